package agent

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/srdtun/srdtun/fleet"
)

// queued is the maximum number of events that wait in the agent's channel.
const queued = 256

// Member has the arguments of Join.
type Member struct {
	Store  Store
	Record *fleet.Record // of this host
	Policy Files
	Dir    string // the daemon's directory of drop-in peers
	Log    *slog.Logger
	// RetryMost bounds the pause after a failed listing.
	RetryMost time.Duration
	// If Exclusive is set, Join refuses a name that another member already has at the start. In a
	// store that deletes the records of failed hosts, such a name is a mistake. In a store that
	// keeps records, the record may be this host's own, with an older key.
	Exclusive bool
}

// Join maintains this host's record in the store, and the other members' files in the directory,
// until ctx ends.
func Join(ctx context.Context, m Member) error {
	policy, err := m.Policy.Load()
	if err != nil {
		return err
	}
	ctx, fail := context.WithCancelCause(ctx)
	f := &follower{
		store: m.Store, events: make(chan Event, queued), again: make(chan struct{}, 1), log: m.Log, most: m.RetryMost,
		record: m.Record, text: m.Record.Format(), policy: policy, alone: m.Exclusive, spoilt: make(chan struct{}, 1),
	}
	var following sync.WaitGroup
	var taken error
	following.Go(func() {
		if taken = f.run(ctx); taken != nil {
			fail(taken)
		}
	})
	err = Run(ctx, Options{
		Policy: m.Policy, Dir: m.Dir, Own: m.Record.PublicKey, Log: m.Log, Events: f.events, Grace: DefaultGrace,
		Relist: func() { ask(f.again) },
	})
	fail(nil)
	following.Wait()
	if err == nil {
		err = taken
	}
	return err
}

// Standings applies the policy to the current records of the store, and returns the result for each
// member.
func Standings(ctx context.Context, s Store, policy fleet.Policy) ([]fleet.Standing, error) {
	roster := fleet.NewRoster(policy, fleet.Key{}, 0)
	_, err := s.List(ctx, func(e fleet.Entry) { roster.Put(e, time.Now()) })
	return roster.Standings(), err
}

// leaveLook is the interval at which Leave checks for signs that an agent still runs.
const leaveLook = 200 * time.Millisecond

// Leave removes the record of a member. If the member's agent still runs, Leave returns an error
// that says so.
func Leave(ctx context.Context, s Store, name string) error {
	r, err := s.Release(ctx, name)
	if err != nil {
		return err
	}
	for end := time.Now().Add(r.Wait); ; Sleep(ctx, leaveLook) {
		sign, err := r.Sign(ctx)
		switch {
		case err != nil:
			return fmt.Errorf("the record is removed; it is not known whether %s's agent puts it back: %w", name, err)
		case sign != "":
			return fmt.Errorf("the agent of %s runs, and %s: stop it first, on its host", name, sign)
		case !time.Now().Before(end):
			return nil
		}
	}
}
