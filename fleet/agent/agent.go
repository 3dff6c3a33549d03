package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/dropdir"
)

const (
	// policyEvery is the interval at which the agent checks the policy's files, with three system
	// calls each. So if a member is removed from a list, it stops being a peer within a second.
	policyEvery = time.Second
	// retryEvery is the pause after a failed write of a file, for example on a full disk.
	retryEvery = time.Second
	// DefaultGrace is how long members without a record remain peers after the store is reachable
	// again. In this time, members that reconnect at the same moment renew their leases, which are
	// as long.
	DefaultGrace = 8 * time.Second
)

// Kind is the kind of an Event.
type Kind int

const (
	// Lost means that the store is unreachable.
	Lost Kind = iota
	// Found means that the store is reachable. At the start, the store counts as unreachable.
	Found
	// List means that a Put event for each entry follows, and then a Listed event. If a second List
	// arrives before Listed, the listing starts again.
	List
	Listed
	Put  // the entry exists, is new or has changed
	Gone // the entry with this name was removed
)

// Event is a message from the store to the agent.
type Event struct {
	Kind  Kind
	Entry fleet.Entry // for Put; for Gone only the name. The agent owns it from then on.
}

// Options are the options of Run.
type Options struct {
	Policy Files
	Dir    string // the daemon's directory of drop-in peers
	Own    fleet.Key
	Log    *slog.Logger
	// Run reads Events until the context ends.
	Events <-chan Event
	// Relist requests a new listing, because the policy or the clock has changed. Relist must not
	// block.
	Relist func()
	Grace  time.Duration
}

// runner is the state of a running agent.
type runner struct {
	Options
	roster *fleet.Roster
	dir    *dropdir.Dir
	stamps [3]look
	fault  string    // last logged fault of the policy or of a file
	again  time.Time // when to retry a failed write
	left   map[string]fleet.Change
	clock  clock
	looked time.Time // when the policy and the clock were last checked
}

// Run updates the files from the store and the policy until ctx ends. The files remain after the
// end of Run.
func Run(ctx context.Context, o Options) error {
	r := &runner{Options: o, stamps: o.Policy.stamps(), left: map[string]fleet.Change{}}
	policy, err := o.Policy.Load()
	if err != nil {
		return err
	}
	if r.dir, err = dropdir.Open(o.Dir); err != nil {
		return err
	}
	defer r.dir.Close()
	r.roster = fleet.NewRoster(policy, o.Own, o.Grace)
	r.restore()
	look := time.NewTicker(policyEvery)
	defer look.Stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		r.write()
		timer.Reset(r.pause(time.Now()))
		select {
		case <-ctx.Done():
			return nil
		case e := <-o.Events:
			r.handle(e)
			r.drain()
		case <-look.C:
			r.reread()
			r.lookAtClock()
		case <-timer.C:
			r.roster.Advance(time.Now())
		}
	}
}

// restore reads the files that an earlier process wrote.
func (r *runner) restore() {
	now := time.Now()
	for name, data := range r.dir.Files() {
		e, err := fleet.ParseFile(name, data)
		if err != nil {
			e = fleet.Entry{Name: name} // an entry without a record is refused, so the file is removed
		}
		r.roster.Restore(e, now)
	}
}

// drainMost is the maximum number of events that the agent handles before it writes files. So a
// long listing causes only a few rounds of changes in the daemon's directory.
const drainMost = 256

// drain handles events that already wait in the channel.
func (r *runner) drain() {
	for range drainMost {
		select {
		case e := <-r.Events:
			r.handle(e)
		default:
			return
		}
	}
}

func (r *runner) handle(e Event) {
	now := time.Now()
	switch e.Kind {
	case Lost:
		r.roster.Lost()
	case Found:
		r.roster.Found(now)
	case List:
		r.roster.List()
	case Listed:
		r.roster.Listed(now)
		r.Log.Info("listed", "admitted", r.roster.Admitted(), "refused", r.roster.Refused())
	case Put:
		r.roster.Put(e.Entry, now)
	case Gone:
		r.roster.Delete(e.Entry.Name, now)
	}
}

// pause returns how long the runner may sleep if no event arrives.
func (r *runner) pause(now time.Time) time.Duration {
	at := r.roster.Deadline()
	if !r.again.IsZero() && (at.IsZero() || r.again.Before(at)) {
		at = r.again
	}
	if at.IsZero() {
		return time.Hour
	}
	return max(0, at.Sub(now))
}

// reread loads the policy again if its files have changed. An unreadable policy changes nothing,
// because a half-edited list must neither admit an unknown host nor remove all members.
func (r *runner) reread() {
	now := r.Policy.stamps()
	if sameStamps(now, r.stamps) {
		return
	}
	policy, err := r.Policy.Load()
	if err != nil {
		r.complain("the policy stays as it was: " + err.Error())
		return
	}
	r.stamps, r.fault = now, ""
	r.Log.Info("the policy has changed")
	r.roster.SetPolicy(policy, time.Now())
	r.Relist()
}

// lookAtClock requests a new listing after the clock was set back, because expired grants may be
// valid again.
func (r *runner) lookAtClock() {
	now := time.Now()
	if r.clock.setBack(now, now.Sub(r.looked)) {
		r.Log.Info("the clock was set back: the records are read again")
		r.Relist()
	}
	r.looked = now
}

// write updates the files, and writes the log.
func (r *runner) write() {
	for _, text := range r.roster.Notices() {
		r.Log.Warn(text)
	}
	for _, c := range r.roster.Changes() {
		r.left[c.Name] = c
	}
	r.again = time.Time{}
	for name, c := range r.left {
		_, there := r.dir.Files()[name]
		changed, err := r.dir.Apply(c)
		if err != nil {
			r.again = time.Now().Add(retryEvery)
			r.complain("not written: " + err.Error())
			continue
		}
		delete(r.left, name)
		switch {
		case !changed:
		case c.File == nil:
			r.Log.Info("gone", "member", name)
		case there:
			r.Log.Info("changed", "member", name)
		default:
			r.Log.Info("came", "member", name)
		}
	}
}

// complain logs a text, unless its last text was the same.
func (r *runner) complain(text string) {
	if r.fault != text {
		r.fault = text
		r.Log.Error(text)
	}
}
