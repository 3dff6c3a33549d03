package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// answers are acknowledgements of a message that was acknowledged before, and whose copies
// came on several paths at once, and nothing else with them. That is a tail probe: the peer
// has heard nothing for long and looks for a path that is alive both ways
// (Conn.probesNow). Hosts that are busy handle what comes in a moment together and
// acknowledge it once, on one path; if that is dead in our direction, all of the probe was
// in vain. So there is an acknowledgement on each of the paths.
type answers struct {
	number uint64    // of the message, since the last acknowledgement
	some   bool      // there was one
	mixed  bool      // and others, or it was new
	on     steer.Set // slots of the peer's that it came on, probesMost at most
	owed   steer.Set // those an acknowledgement is owed on now
}

// note takes it that message n, new or not, came on the peer's slot.
func (a *answers) note(n uint64, fresh bool, slot uint16) {
	if fresh || (a.some && n != a.number) {
		a.mixed = true
	}
	a.number, a.some = n, true
	if !a.mixed && a.on.Len() < probesMost {
		a.on.Add(int(slot))
	}
}

// owe takes it that all that came was acknowledged on p, and owes more where that is not
// enough.
func (c *Conn) owe(p *path) {
	a := c.answers
	c.answers = answers{owed: a.owed} // those of a probe whose copies were not read all at once
	if a.mixed || a.on.Len() < 2 {
		return
	}
	for slot := a.on.First(); slot >= 0; slot = a.on.Next(slot + 1) {
		if in := c.in[slot]; in != nil && in.path != p {
			c.answers.owed.Add(slot)
		}
	}
}

// nextAnswer sends the next acknowledgement that is owed, if its path works as far as we
// know, with what came on it.
func (c *Conn) nextAnswer(now mono.Time, t *Train) bool {
	for owed := &c.answers.owed; !owed.Empty(); {
		slot := owed.First()
		owed.Remove(slot)
		in := c.in[slot]
		if in == nil || in.path == nil || in.path.state != PathActive {
			continue
		}
		records := append(c.ackParts().recs[:0], in.record(now))
		words := c.inbox.Words(c.ackParts().words[:])
		c.stats.Acks++
		c.single(now, t, in.path, ledger.Silent, 0, func(b []byte) []byte {
			return wire.AppendAck(b, c.inbox.FirstMissing(), 0, records, c.ackParts().words[:words])
		})
		return true
	}
	return false
}
