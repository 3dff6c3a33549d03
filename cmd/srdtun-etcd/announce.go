package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

const (
	// defaultLease is how long a member that says nothing is still one. It is renewed every
	// third of that; etcd looks for expired ones twice a second.
	defaultLease = 8 * time.Second
	// maxLease: a member that left is gone within 10 s.
	maxLease = 10 * time.Second
	// minLease: etcd's own least lease is 2 s with its usual election timeout.
	minLease = 3 * time.Second
	// mendMost bounds the pause before a record that somebody else changed is put back again,
	// which begins with mendFirst and doubles: two programs must not keep etcd busy.
	mendFirst = 50 * time.Millisecond
	mendMost  = 30 * time.Second
	// retryMost bounds the pause after a request that failed. It is shorter than a lease.
	retryMost = time.Second
)

// announcer keeps this host's record in etcd, and tells an agent whether etcd is there.
type announcer struct {
	client *clientv3.Client
	key    string
	record []byte
	lease  time.Duration
	events chan<- agent.Event
	log    *slog.Logger

	id    clientv3.LeaseID // 0: none
	there bool             // etcd, as it was told to the agent
	said  string           // the last fault
}

// run renews the lease until ctx ends. The record stays then, as long as its lease: a process
// that is restarted is a member all the time.
func (a *announcer) run(ctx context.Context) {
	tampered := make(chan struct{}, 1)
	go a.guard(ctx, tampered)
	pause, mend, mended := time.Duration(0), mendFirst, time.Time{}
	for ctx.Err() == nil {
		err := a.renew(ctx)
		a.reached(ctx, err)
		if pause = a.lease / 3; err != nil {
			pause = retryMost
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		case <-tampered:
			if time.Since(mended) > mendMost {
				mend = mendFirst
			}
			if !sleep(ctx, mend) {
				return
			}
			mend, mended = min(2*mend, mendMost), time.Now()
			a.log.Warn("somebody else changed or removed this host's record; it is put back")
			a.id = 0
		}
	}
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// reached tells the agent when etcd comes and goes.
func (a *announcer) reached(ctx context.Context, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != a.said && ctx.Err() == nil {
		if a.said = text; err != nil {
			a.log.Warn("etcd cannot be reached: members stay as they are: " + text)
		} else {
			a.log.Info("etcd is reached")
		}
	}
	if there := err == nil; there != a.there {
		a.there = there
		kind := agent.Lost
		if there {
			kind = agent.Found
		}
		select {
		case a.events <- agent.Event{Kind: kind}:
		case <-ctx.Done():
		}
	}
}

// renew keeps the lease, or takes another one and puts the record under it.
func (a *announcer) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(askFor, a.lease/2))
	defer cancel()
	if a.id != 0 {
		_, err := a.client.KeepAliveOnce(ctx, a.id)
		if !isGone(err) {
			return err
		}
	}
	lease, err := a.client.Grant(ctx, int64(a.lease/time.Second))
	if err != nil {
		return err
	}
	// In place of the one before, if that is there: nobody sees the member go.
	if _, err := a.client.Put(ctx, a.key, string(a.record), clientv3.WithLease(lease.ID)); err != nil {
		return err
	}
	a.id = lease.ID
	return nil
}

// guard says when the record in etcd is not ours. Whoever may write to etcd may change it; a
// host that was joined under a name twice does, too.
func (a *announcer) guard(ctx context.Context, tampered chan<- struct{}) {
	for ctx.Err() == nil {
		for n := range a.client.Watch(clientv3.WithRequireLeader(ctx), a.key) {
			for _, e := range n.Events {
				if string(e.Kv.Value) == string(a.record) {
					continue
				}
				select {
				case tampered <- struct{}{}:
				default: // it is going to be put back
				}
			}
		}
		sleep(ctx, relistPause)
	}
}

// free says whether the name is another member's, which the policy admits: the record of that
// one must not be overwritten by a mistake.
func free(ctx context.Context, client *clientv3.Client, key string, own *fleet.Record, policy fleet.Policy) error {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	got, err := client.Get(ctx, key)
	if err != nil || len(got.Kvs) == 0 {
		return nil // if etcd is away, that is said later
	}
	other, err := fleet.ParseRecord(got.Kvs[0].Value)
	if err != nil || other.PublicKey == own.PublicKey || policy.Judge(other, time.Now()) != nil {
		return nil
	}
	return fmt.Errorf("%s is a member with another key, %s: give this host another name, or: srdtun-etcd leave %s", own.Name, other.PublicKey, own.Name)
}
