package agent

import (
	"context"
	"log/slog"
	"time"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/dropdir"
)

const (
	// policyEvery is the interval of checks of the policy's files, three system calls each. So
	// a member that is removed from a list stops being a peer a second later.
	policyEvery = time.Second
	// retryEvery is the pause after a failure to write a file, for example on a full disk.
	retryEvery = time.Second
	// DefaultGrace is how long missing members stay after the discovery can be reached again.
	// It is as long as the lease of a member that reconnects at the same time.
	DefaultGrace = 8 * time.Second
)

// Kind is the kind of an Event.
type Kind int

const (
	// Lost means that the discovery cannot be reached.
	Lost Kind = iota
	// Found means that it can be reached. At the start a discovery counts as lost.
	Found
	// List means that a Put for each entry follows, and then Listed. Another List before Listed
	// restarts the listing.
	List
	Listed
	Put  // the entry is there, has come or has changed
	Gone // the name is there no more
)

// Event is news from a discovery.
type Event struct {
	Kind  Kind
	Entry fleet.Entry // of Put; of Gone the name. The agent's own from then on.
}

// These are the options of Run.
type Options struct {
	Policy Files
	Dir    string // the daemon's directory of drop-in peers
	Own    fleet.Key
	Log    *slog.Logger
	// Events is read until the context ends.
	Events <-chan Event
	// Relist asks for a new listing, because the policy or the clock has changed. It does not block.
	Relist func()
	Grace  time.Duration
}

// runner is a running agent.
type runner struct {
	Options
	roster *fleet.Roster
	dir    *dropdir.Dir
	stamps [3]look
	fault  string    // of the policy or of a file, as it was said last
	again  time.Time // when to retry a failed write
	left   map[string]fleet.Change
	clock  clock
	looked time.Time // when the policy and the clock were looked at last
}

// Run keeps the files consistent with discovery and policy until ctx ends. After that the files
// stay.
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

// restore reads the files of an earlier process.
func (r *runner) restore() {
	now := time.Now()
	for name, data := range r.dir.Files() {
		e, err := fleet.ParseFile(name, data)
		if err != nil {
			e = fleet.Entry{Name: name} // no record: it is refused, and the file goes
		}
		r.roster.Restore(e, now)
	}
}

// drainMost is the number of events that are handled before files are written. So a long
// listing changes the daemon's directory only a few times.
const drainMost = 256

// drain handles the events that are already waiting.
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

// pause returns how long the runner may sleep if no event comes.
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

// reread applies a changed policy. An unreadable policy changes nothing: a half-edited list
// must neither admit a stranger nor remove all members.
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

// lookAtClock has the records listed anew after the clock was set back: grants may be valid again.
func (r *runner) lookAtClock() {
	now := time.Now()
	if r.clock.setBack(now, now.Sub(r.looked)) {
		r.Log.Info("the clock was set back: the records are read again")
		r.Relist()
	}
	r.looked = now
}

// write brings the files up to date, and logs.
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

// complain logs a text, unless the last call logged the same text.
func (r *runner) complain(text string) {
	if r.fault != text {
		r.fault = text
		r.Log.Error(text)
	}
}
