package main

import (
	"bytes"
	"context"
	"errors"
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
	// which begins with mendFirst and doubles: two programs must not keep etcd busy. The first
	// is shorter than others wait (fleet.Linger).
	mendFirst = 20 * time.Millisecond
	mendMost  = 30 * time.Second
	// retryPause is how long to wait after etcd was not reached. It is shorter than a lease.
	retryPause = time.Second
)

// announcer keeps this host's record in etcd, and tells an agent whether etcd is there.
type announcer struct {
	*login
	key    string
	record []byte
	lease  time.Duration
	events chan<- agent.Event
	// tampered: the record in etcd is not ours.
	tampered <-chan struct{}
	log      *slog.Logger

	there  bool          // etcd, as it was told to the agent
	said   string        // the last fault
	mend   time.Duration // before the record is put back the next time
	mended time.Time     // when it was the last time
}

// errSilent is of etcd when it does not answer.
var errSilent = errors.New("it does not answer")

// run keeps the record until ctx ends. It stays then, as long as its lease: a process that is
// restarted is a member all the time.
func (a *announcer) run(ctx context.Context) {
	for ctx.Err() == nil {
		with, err := a.with(ctx)
		if err == nil {
			err = a.hold(with)
			a.look(with, err)
		}
		a.reached(ctx, err)
		sleep(ctx, retryPause)
	}
}

// hold takes a lease, puts the record under it, and renews it on one stream, as with a
// password each stream costs etcd as much as a login. It returns when the lease is lost.
func (a *announcer) hold(ctx context.Context) error {
	id, err := a.grant(ctx)
	if err != nil {
		return err
	}
	a.reached(ctx, nil)
	alive, err := a.client.KeepAlive(ctx, id) // every third of the lease
	if err != nil {
		return err
	}
	silent := time.NewTimer(a.lease * 2 / 3)
	defer silent.Stop()
	for {
		select {
		case _, ok := <-alive:
			if !ok {
				return errSilent
			}
			silent.Reset(a.lease * 2 / 3)
			a.reached(ctx, nil)
		case <-silent.C:
			a.reached(ctx, errSilent)
		case <-a.tampered:
			if err := a.restore(ctx, id); err != nil {
				return err
			}
		}
	}
}

// grant puts the record under a new lease. It takes the place of one that is there, so that
// nobody sees the member go.
func (a *announcer) grant(ctx context.Context) (clientv3.LeaseID, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	lease, err := a.client.Grant(ctx, int64(a.lease/time.Second))
	if err != nil {
		return 0, err
	}
	_, err = a.client.Put(ctx, a.key, string(a.record), clientv3.WithLease(lease.ID))
	return lease.ID, err
}

// restore puts the record back. Whoever may write to etcd may change it, and so does a host
// that was given the same name.
func (a *announcer) restore(ctx context.Context, id clientv3.LeaseID) error {
	if time.Since(a.mended) > mendMost {
		a.mend = mendFirst
	}
	sleep(ctx, a.mend)
	a.mend, a.mended = min(2*a.mend, mendMost), time.Now()
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	if got, err := a.client.Get(ctx, a.key); err == nil && len(got.Kvs) == 1 && bytes.Equal(got.Kvs[0].Value, a.record) && got.Kvs[0].Lease == int64(id) {
		return nil
	}
	a.log.Warn("somebody else changed or removed this host's record; it is put back")
	_, err := a.client.Put(ctx, a.key, string(a.record), clientv3.WithLease(id))
	return err
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// reached tells the agent when etcd comes and goes.
func (a *announcer) reached(ctx context.Context, err error) {
	if ctx.Err() != nil {
		return
	}
	text := ""
	if err != nil {
		text = err.Error()
	}
	if text != a.said {
		if a.said = text; err != nil {
			a.log.Warn("etcd cannot be reached, members stay as they are: " + text)
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

// free says whether the name is another member's, which the policy admits: the record of that
// one must not be overwritten by a mistake.
func free(ctx context.Context, l *login, key string, own *fleet.Record, policy fleet.Policy) error {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	ctx, err := l.with(ctx)
	if err != nil {
		return nil // if etcd is away, that is said later
	}
	got, err := l.client.Get(ctx, key)
	if err != nil || len(got.Kvs) == 0 {
		return nil
	}
	other, err := fleet.ParseRecord(got.Kvs[0].Value)
	if err != nil || other.PublicKey == own.PublicKey || policy.Judge(other, time.Now()) != nil {
		return nil
	}
	return fmt.Errorf("%s is a member with another key, %s: give this host another name, or: srdtun-etcd leave %s", own.Name, other.PublicKey, own.Name)
}
