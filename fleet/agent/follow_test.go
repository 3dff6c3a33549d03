package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/srdtun/srdtun/fleet"
)

// shelf is a store in memory.
type shelf struct {
	mu       sync.Mutex
	have     map[string][]byte
	version  int
	fault    error // error of each request
	claims   int
	watching chan chan<- shelved // receives the channel of each watch that begins
}

// shelved is a change that a watch reports.
type shelved struct {
	e    fleet.Entry
	gone bool
	err  error
}

func newShelf() *shelf {
	return &shelf{have: map[string][]byte{}, watching: make(chan chan<- shelved, 16)}
}

func (s *shelf) String() string { return "the shelf" }
func (s *shelf) Close() error   { return nil }

func (s *shelf) List(_ context.Context, put func(fleet.Entry)) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault != nil {
		return "", s.fault
	}
	for name, v := range s.have {
		put(fleet.Entry{Name: name, Value: Cut(v)})
	}
	return fmt.Sprint(s.version), nil
}

func (s *shelf) Watch(ctx context.Context, version string, changed func(fleet.Entry, bool)) (string, error) {
	news := make(chan shelved)
	s.watching <- news
	for {
		select {
		case <-ctx.Done():
			return version, ctx.Err()
		case n := <-news:
			if n.err != nil {
				return version, n.err
			}
			changed(n.e, n.gone)
		}
	}
}

func (s *shelf) Claim(ctx context.Context, c *Claim) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.Spoilt:
		}
		s.mu.Lock()
		s.have[c.Name] = c.Record
		s.claims++
		s.mu.Unlock()
	}
}

func (s *shelf) Release(context.Context, string) (*Released, error) {
	return nil, errors.New("not here")
}

// set changes an entry without notifying watches.
func (s *shelf) set(name string, value []byte, fault error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.have[name], s.fault = value, fault
}

func (s *shelf) claimed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims
}

// claimed returns the record of a member that the rig's allow list permits.
func (r *rig) claimed(i int) *fleet.Record {
	r.t.Helper()
	p, err := r.policy.Load()
	if err != nil {
		r.t.Fatal(err)
	}
	return p.Allow.Find(fmt.Sprint("m", i)).Claimed(nil)
}

// join runs an agent of member m1, until the test ends.
func (r *rig) join(s Store) {
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan error, 1)
	m := Member{Store: s, Record: r.claimed(1), Policy: r.policy, Dir: r.dir, Log: slog.New(slog.NewTextHandler(&r.log, nil)), RetryMost: time.Second}
	go func() {
		c <- Join(ctx, m)
	}()
	r.t.Cleanup(func() {
		cancel()
		if err := <-c; err != nil {
			r.t.Error(err)
		}
	})
}

func (r *rig) files() int {
	all, err := os.ReadDir(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return len(all)
}

// If this host's record is changed or removed in the store, the agent restores it. It does so even
// if only a listing shows the change.
func TestRecordIsPutBack(t *testing.T) {
	r, s := newRig(t), newShelf()
	r.allow(1, 2)
	s.set("m2", r.claimed(2).Format(), nil)
	r.join(s)
	r.await("m2 is a peer, m1 is claimed", func() bool { return r.files() == 1 && s.claimed() == 1 })
	news := <-s.watching
	news <- shelved{e: fleet.Entry{Name: "m1", Value: []byte("x")}}
	r.await("it is put back after a change", func() bool { return s.claimed() == 2 })
	news <- shelved{e: fleet.Entry{Name: "m1"}, gone: true}
	r.await("it is put back after a removal", func() bool { return s.claimed() == 3 })
	s.set("m1", nil, nil)
	news <- shelved{err: ErrStale}
	<-s.watching
	r.await("it is put back after a listing", func() bool { return s.claimed() == 4 })
	if r.log.has("cannot be reached") {
		t.Error("a version that is too old is no fault")
	}
}

// The agent must not use the name of another member, whenever the store becomes reachable.
func TestNameOfAnotherMember(t *testing.T) {
	r, s := newRig(t), newShelf()
	r.allow(1)
	listed := r.claimed(1)
	s.set("m1", listed.Format(), errors.New("away"))
	own := &fleet.Record{Name: "m1", PublicKey: key(9)}
	ended := make(chan error, 1)
	m := Member{Store: s, Record: own, Policy: r.policy, Dir: r.dir, Log: slog.New(slog.NewTextHandler(&r.log, nil)), RetryMost: time.Second, Exclusive: true}
	go func() { ended <- Join(t.Context(), m) }()
	r.await("told that the store is away", func() bool { return r.log.has("the shelf cannot be reached, members stay as they are: away") })
	s.set("m1", listed.Format(), nil)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "m1 is a member with another key, "+listed.PublicKey.String()) || s.claimed() != 0 {
		t.Errorf("%v, %d claims", err, s.claimed())
	}
}

// The agent repeats requests to a failed store, logs the same fault once, and removes no member
// meanwhile.
func TestStoreAway(t *testing.T) {
	r, s := newRig(t), newShelf()
	r.allow(1, 2)
	s.set("m2", r.claimed(2).Format(), nil)
	r.join(s)
	news := <-s.watching
	s.set("m3", []byte("nonsense"), errors.New("refused"))
	news <- shelved{err: errors.New("broken")}
	r.await("the fault is told", func() bool { return r.log.has("members stay as they are: refused") })
	time.Sleep(2 * retryFirst) // time for some listings
	if n := r.log.count("members stay as they are: refused"); n != 1 || r.files() != 1 {
		t.Errorf("told %d times; %d files", n, r.files())
	}
	s.set("m3", []byte("nonsense"), nil)
	<-s.watching
	r.await("it is back", func() bool { return r.log.count("the shelf is reached") == 2 && r.log.has("m3 is refused") })
}

// If the policy changes during a watch, the agent requests a new listing.
func TestPolicyAsksForAListing(t *testing.T) {
	r, s := newRig(t), newShelf()
	r.allow(1)
	s.set("m2", (&fleet.Record{Name: "m2", PublicKey: key(2)}).Format(), nil)
	r.join(s)
	<-s.watching
	if r.files() != 0 {
		t.Error("m2 is not allowed")
	}
	r.allow(1, 2)
	<-s.watching
	r.await("m2 is a peer", func() bool { return r.files() == 1 })
}
