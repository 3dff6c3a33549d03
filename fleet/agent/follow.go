package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/srdtun/srdtun/fleet"
)

const (
	// retryFirst is the pause after the first failed listing. Each further failure doubles the
	// pause, up to the store's RetryMost.
	retryFirst = 500 * time.Millisecond
	// claimPause is the pause after a failed write of this host's record. It is shorter than a
	// lease.
	claimPause = time.Second
	// faultAgain is how long a watch must last before the agent logs the same fault again.
	faultAgain = time.Minute
)

// follower sends a store's entries to an agent, and maintains this host's record in the store.
type follower struct {
	store  Store
	events chan Event
	again  chan struct{} // requests a new listing, because the policy has changed
	log    *slog.Logger
	most   time.Duration // longest pause between two listings that fail

	record *fleet.Record // record of this host
	text   []byte        // the record as the store should have it
	policy fleet.Policy
	alone  bool // refuse a name that another member has: Member.Exclusive
	right  bool // the store has the record, according to the listing or the watch
	other  *fleet.Record
	spoilt chan struct{}

	reading string // last logged fault of reading
	writing string // last logged fault of writing the record

	mu    sync.Mutex // guards the next fields; the listing and the claim both write them
	there bool       // the store is reachable, as last reported to the agent
	known bool       // the log says that it is reachable
}

// run lists and watches the store until ctx ends, and maintains the record after the first
// listing. If the name belongs to another member, run() returns an error.
func (f *follower) run(ctx context.Context) error {
	var keeping sync.WaitGroup
	defer keeping.Wait()
	keep := sync.OnceFunc(func() { keeping.Go(func() { f.keep(ctx) }) })
	pause := retryFirst
	for ctx.Err() == nil {
		version, err := f.list(ctx)
		if err == nil {
			if f.alone && f.other != nil {
				return fmt.Errorf("%s is a member with another key, %s: give this host another name, or remove that member: leave %s",
					f.record.Name, f.other.PublicKey, f.record.Name)
			}
			f.alone = false // from now on the name belongs to this host
			keep()
			pause = retryFirst
			begun := time.Now()
			err = f.watch(ctx, version)
			if time.Since(begun) > faultAgain {
				f.reading = ""
			}
		}
		switch {
		case err == nil:
			continue
		case !errors.Is(err, ErrStale): // ErrStale is not a fault: the list is read again
			f.reached(ctx, &f.reading, err)
		}
		Sleep(ctx, pause)
		pause = min(2*pause, f.most)
	}
	return nil
}

// list sends all entries of the store to the agent.
func (f *follower) list(ctx context.Context) (version string, err error) {
	f.right, f.other = false, nil
	f.send(ctx, Event{Kind: List})
	version, err = f.store.List(ctx, func(e fleet.Entry) { f.put(ctx, e) })
	if err != nil {
		return "", err
	}
	f.reached(ctx, &f.reading, nil)
	f.send(ctx, Event{Kind: Listed})
	if !f.right {
		f.spoil()
	}
	return version, ctx.Err()
}

// watch sends changes to the agent until the watch fails. If the agent requests a new listing,
// watch returns nil.
func (f *follower) watch(ctx context.Context, version string) (err error) {
	var asked sync.WaitGroup
	defer asked.Wait()
	until, stop := context.WithCancel(ctx)
	defer stop()
	asked.Go(func() {
		select {
		case <-f.again:
			stop()
		case <-until.Done():
		}
	})
	for err == nil && until.Err() == nil {
		version, err = f.store.Watch(until, version, func(e fleet.Entry, gone bool) { f.change(ctx, e, gone) })
	}
	if until.Err() != nil {
		return nil
	}
	return err
}

func (f *follower) change(ctx context.Context, e fleet.Entry, gone bool) {
	if !gone {
		f.put(ctx, e)
		if e.Name == f.record.Name && !f.right {
			f.spoil()
		}
		return
	}
	f.send(ctx, Event{Kind: Gone, Entry: e})
	if e.Name == f.record.Name {
		f.spoil()
	}
}

// put sends an entry to the agent, and compares an entry of this host's name with this host's
// record.
func (f *follower) put(ctx context.Context, e fleet.Entry) {
	if e.Name == f.record.Name {
		f.right = bytes.Equal(e.Value, f.text)
		f.other = f.stranger(e.Value)
	}
	f.send(ctx, Event{Kind: Put, Entry: e})
}

// stranger returns the record in an entry if its key is not this host's key.
func (f *follower) stranger(value []byte) *fleet.Record {
	r, err := fleet.ParseRecord(value)
	if err != nil || r.PublicKey == f.record.PublicKey || f.policy.Judge(r, time.Now()) != nil {
		return nil
	}
	return r
}

// spoil notifies the running Claim that the store lacks the record, or has a different one.
func (f *follower) spoil() { ask(f.spoilt) }

// ask sends a request to a channel, unless a request already waits in it.
func ask(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// keep maintains the record in the store until ctx ends.
func (f *follower) keep(ctx context.Context) {
	c := &Claim{Name: f.record.Name, Record: f.text, Spoilt: f.spoilt, Log: f.log}
	c.Reached = func(err error) {
		f.reached(ctx, &f.writing, err)
		if err == nil {
			f.writing = ""
		}
	}
	for ctx.Err() == nil {
		if err := f.store.Claim(ctx, c); err != nil {
			c.Reached(err)
		}
		Sleep(ctx, claimPause)
	}
}

// reached notifies the agent when the store becomes unreachable or reachable, and logs each fault
// once.
func (f *follower) reached(ctx context.Context, said *string, err error) {
	if ctx.Err() != nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && err.Error() != *said {
		*said, f.known = err.Error(), false
		f.log.Warn(fmt.Sprintf("%s cannot be reached, members stay as they are: %v", f.store, err))
	}
	if there := err == nil; there != f.there {
		f.there = there
		kind := Lost
		if there {
			kind = Found
		}
		f.send(ctx, Event{Kind: kind})
	}
	if err == nil && !f.known {
		f.known = true
		f.log.Info(fmt.Sprintf("%s is reached", f.store))
	}
}

func (f *follower) send(ctx context.Context, e Event) {
	select {
	case f.events <- e:
	case <-ctx.Done():
	}
}
