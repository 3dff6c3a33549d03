package etcd

import (
	"context"
	"errors"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/srdtun/srdtun/fleet/agent"
)

// leaveSpare is added to the agent's interval between renewals, which is a third of the lease,
// because etcd and the host may be busy.
const leaveSpare = time.Second

// removed is a record that Release has removed.
type removed struct {
	*store
	key      string
	revision int64            // revision of the removal
	lease    clientv3.LeaseID // lease of the removed record; clientv3.NoLease: there is none to renew
	left     int64            // remaining time of the lease at the last check, in seconds
}

// Release removes the record of a member.
func (s *store) Release(ctx context.Context, name string) (*agent.Released, error) {
	r := &removed{store: s, key: s.prefix + name}
	wait := leaveSpare
	var unknown error
	err := s.withToken(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, askFor)
		defer cancel()
		got, err := s.client.Get(ctx, r.key, clientv3.WithLimit(1), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		if len(got.Kvs) == 0 {
			return errors.New(name + " is no member")
		}
		gone, err := s.client.Delete(ctx, r.key)
		if err != nil {
			return err
		}
		r.revision, r.lease = gone.Header.Revision, clientv3.LeaseID(got.Kvs[0].Lease)
		var granted int64
		granted, unknown = r.look(ctx)
		wait += time.Duration(granted) * time.Second / 3
		return nil
	})
	released := &agent.Released{Wait: wait, Sign: r.sign}
	if unknown != nil {
		released.Sign = func(context.Context) (string, error) { return "", unknown }
	}
	return released, err
}

// look checks the lease, stores its remaining time, and returns its granted lifetime in seconds.
func (r *removed) look(ctx context.Context) (granted int64, err error) {
	if r.lease == clientv3.NoLease {
		return 0, nil
	}
	lease, err := r.client.TimeToLive(ctx, r.lease)
	if err != nil {
		return 0, err
	}
	if r.left = lease.TTL; lease.TTL <= 0 {
		r.lease = clientv3.NoLease // the lease has expired
		return 0, nil
	}
	return lease.GrantedTTL, nil
}

// sign looks for a sign that the member's agent still runs. A running agent restores the record, at
// once or after a pause if it has restored it recently. It also renews its lease.
func (r *removed) sign(ctx context.Context) (sign string, err error) {
	err = r.withToken(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, askFor)
		defer cancel()
		got, err := r.client.Get(ctx, r.key, clientv3.WithLimit(1), clientv3.WithKeysOnly())
		if err != nil {
			return err
		}
		if len(got.Kvs) > 0 && got.Kvs[0].ModRevision > r.revision {
			sign = agent.PutBack
			return nil
		}
		before := r.left
		if _, err = r.look(ctx); err == nil && r.lease != clientv3.NoLease && r.left > before {
			sign = agent.Renews
		}
		return err
	})
	return sign, err
}
