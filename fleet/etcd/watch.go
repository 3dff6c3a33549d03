package etcd

import (
	"context"
	"errors"
	"strconv"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/srdtun/srdtun/fleet"
)

// Watch reports changes of keys after a revision.
func (s *store) Watch(ctx context.Context, version string, changed func(fleet.Entry, bool)) (string, error) {
	revision, err := strconv.ParseInt(version, 10, 64)
	if err != nil {
		return version, err
	}
	return version, s.withToken(ctx, func(ctx context.Context) error { return s.watch(ctx, revision, changed) })
}

func (s *store) watch(ctx context.Context, revision int64, changed func(fleet.Entry, bool)) error {
	// With this option, an etcd server that has lost contact with the other servers ends the watch
	// with an error, instead of reporting nothing.
	ctx, cancel := context.WithCancel(clientv3.WithRequireLeader(ctx))
	defer cancel()
	news := s.client.Watch(ctx, s.prefix, clientv3.WithPrefix(), clientv3.WithRev(revision+1), clientv3.WithFragment())
	for n := range news {
		if err := n.Err(); err != nil {
			return err
		}
		for _, e := range n.Events {
			changed(s.entry(e.Kv), e.Type == mvccpb.DELETE)
		}
	}
	return errors.New("the watch has ended")
}
