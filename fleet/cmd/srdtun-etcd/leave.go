package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/internal/member"
)

const (
	// leaveLook is how often it is looked whether an agent runs.
	leaveLook = 200 * time.Millisecond
	// leaveSpare is added to the third of its lease after which an agent renews it: etcd and
	// the host may be busy.
	leaveSpare = time.Second
)

func leaveCommand() *cobra.Command {
	var c connection
	cmd := &cobra.Command{
		Use:   "leave NAME",
		Short: "Remove a member at once",
		Long: `leave removes the record of a member, without waiting for its lease. Stop its
agent first: one that runs puts its record back, and leave fails. It waits for
as long as an agent is silent, some seconds, to be sure that none runs.`,
		Args: member.Takes(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := fleet.CheckName(args[0]); err != nil {
				return member.Usagef("%w", err)
			}
			l, err := c.dial()
			if err != nil {
				return err
			}
			defer l.client.Close()
			return leave(context.Background(), l, c.prefix+args[0], args[0])
		},
	}
	c.flags(cmd)
	return cmd
}

// leave removes a record. The error says so if its agent runs.
func leave(ctx context.Context, l *login, key, name string) error {
	ctx, err := l.with(ctx)
	if err != nil {
		return err
	}
	ask, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	got, err := l.client.Get(ask, key, clientv3.WithLimit(1), clientv3.WithKeysOnly())
	if err != nil {
		return err
	}
	if len(got.Kvs) == 0 {
		return errors.New(name + " is no member")
	}
	lease := clientv3.LeaseID(got.Kvs[0].Lease)
	gone, err := l.client.Delete(ask, key)
	if err != nil {
		return err
	}
	return stays(ctx, l, key, name, lease, gone.Header.Revision)
}

// stays waits until it is sure that nobody puts a record back that was removed at a revision.
// An agent does so at once; but if that has happened before, it pauses. It renews its lease all
// the same.
func stays(ctx context.Context, l *login, key, name string, lease clientv3.LeaseID, revision int64) error {
	end, before := time.Now().Add(leaveSpare), int64(0)
	for first := true; first || time.Now().Before(end); first = false {
		ask, cancel := context.WithTimeout(ctx, askFor)
		got, err := l.client.Get(ask, key, clientv3.WithLimit(1), clientv3.WithKeysOnly())
		var left *clientv3.LeaseTimeToLiveResponse
		if err == nil && lease != clientv3.NoLease {
			left, err = l.client.TimeToLive(ask, lease)
		}
		cancel()
		switch {
		case err != nil:
			return fmt.Errorf("the record is removed, and it is not known whether %s's agent puts it back: %w", name, err)
		case len(got.Kvs) > 0 && got.Kvs[0].ModRevision > revision:
			return fmt.Errorf("the agent of %s runs, and has put the record back: stop it first, on its host", name)
		case left == nil: // nobody renews it
		case !first && left.TTL > before:
			return fmt.Errorf("the agent of %s runs, and puts the record back: stop it first, on its host", name)
		case first && left.TTL > 0:
			end = time.Now().Add(time.Duration(left.GrantedTTL)*time.Second/3 + leaveSpare)
		case left.TTL <= 0:
			lease = clientv3.NoLease // it has run out
		}
		if left != nil {
			before = left.TTL
		}
		time.Sleep(leaveLook)
	}
	return nil
}
