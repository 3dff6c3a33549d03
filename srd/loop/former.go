package loop

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// A loop ends, and that of another process goes on with its connections and its sockets.
//
//	Halt      nobody reads from the sockets any more: what comes waits there
//	Suspend   of each peer: the connection's keys and numbers
//	Former    the clock and the prefix of indices, which the kernel's filter knows

// Former is what a loop needs to go on from another one, beside its connections.
type Former struct {
	Clock  mono.Time // what the time was
	Boot   int64     // and what it was by BootTime
	Prefix uint16    // of receiver indices
}

// BootTime reads the clock that all processes share, and that goes on in a suspension of the
// machine: nanoseconds since it started (CLOCK_BOOTTIME).
func BootTime() int64 { return bootTime() }

// Former returns what the next loop needs.
func (l *Loop) Former() *Former {
	// A suspension that was not noticed yet is time that has passed as well.
	now := l.clock.first.Add(time.Duration(l.clock.boot() - l.clock.base))
	return &Former{Clock: max(now, l.Now()), Boot: l.clock.boot(), Prefix: l.table.prefix}
}

// follow makes the clock go on where that of f would be by now.
func (c *clock) follow(f *Former) {
	c.first = f.Clock.Add(time.Duration(max(0, c.base-f.Boot)))
}

// haltRounds bounds what a worker does before it ends: as many rounds as it takes to serve
// all shelves a few times over.
const haltRounds = 64

// Halt ends the workers when they have dealt with what they have read, and hands on what
// came of it. Run must have been called; it returns then.
func (l *Loop) Halt() {
	l.halting.Store(true)
	for _, w := range l.workers {
		w.stop()
	}
	<-l.ended
}

// leave is the end of a worker.
func (w *worker) leave() error {
	for n := 0; w.loop.halting.Load() && n < haltRounds; n++ {
		if err := w.finish(); err != nil {
			return err
		}
		if len(w.touched) == 0 && len(w.turns.waiting) == 0 {
			break
		}
	}
	return nil
}

// Suspend takes the session out of a peer whose loop was halted, for another process to go
// on with (srd.Conn.Suspend). Nothing is sent to it any more, nor taken from it. ok is false,
// and nothing changes, when there is none.
func (l *Loop) Suspend(p *Peer) (st *srd.State, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.removed {
		return nil, false
	}
	if st, ok = p.conn.Suspend(l.Now()); ok {
		p.removed = true
	}
	return st, ok
}
