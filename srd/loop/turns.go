package loop

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Peers share the sockets and the time of a worker. A peer could fill the sockets' buffers with
// more packets than the worker can handle, or with packets whose handling takes long. All other
// peers would wait, and the kernel would drop their packets, too.
//
// So a peer has a share of the time in a round. Packets beyond this share are put into a backlog
// of the peer, its shelf, while the worker empties the sockets for the other peers. At the end
// of the round the worker serves the backlogs, peer by peer (deficit round robin by time,
// Shreedhar and Varghese, SIGCOMM 1995). If a backlog is full, only that peer's packets are
// dropped. With a single peer no time is measured.
const (
	// turnTime is a peer's time in a round, and again for its backlog at the end of the round.
	// roundPackets packets of an honest peer take about turnTime, so they hardly ever enter a
	// backlog.
	turnTime = 400 * time.Microsecond
	// turnsMost bounds the time for backlogs in a round, because the sockets' buffers must not
	// fill up in that time.
	turnsMost = 3 * turnTime
	// shelfLoops multiplies socketPackets while the packets of a socket are put into backlogs.
	// Adding a packet to a backlog takes a twentieth of the time of handling it.
	shelfLoops = 4
	// A worker keeps at most keepRings unused ring buffers for new backlogs. After keepRounds
	// rounds without a backlog, the worker frees these buffers.
	keepRings  = 4
	keepRounds = 10_000
)

// turn records the time that one peer has used at a worker.
type turn struct {
	round uint64 // round to which `spent` belongs
	spent time.Duration
	shelf shelf
}

// over reports whether the peer has used its time in this round, or has a backlog.
func (t *turn) over(round uint64) bool {
	return !t.shelf.empty() || t.round == round && t.spent >= turnTime
}

func (t *turn) charge(round uint64, d time.Duration) {
	if t.round != round {
		t.round, t.spent = round, 0
	}
	t.spent += d
}

// turns holds a worker's current round, and its peers with backlogs.
type turns struct {
	round   uint64
	since   mono.Time // start of the current datagram; 0: not measured
	waiting []*Peer   // peers with packets on their shelves, in the order of their turns
	rings   [][]byte  // unused
	used    uint64    // last round that used a shelf
}

// next begins a new round.
func (t *turns) next() {
	if t.round++; t.round-t.used > keepRounds {
		t.rings = nil
	}
}

// shelve adds a datagram to p's backlog, and reports whether there was room for it.
func (t *turns) shelve(p *Peer, own *turn, to srd.Tuple, data []byte, size int, ecn srd.ECN, at mono.Time) bool {
	t.used = t.round
	if own.shelf.empty() {
		t.waiting = append(t.waiting, p)
		if own.shelf.ring == nil {
			own.shelf.ring = t.ring()
		}
	}
	return own.shelf.put(to, data, size, ecn, at)
}

// ring returns memory for a backlog, reused memory if possible.
func (t *turns) ring() []byte {
	last := len(t.rings) - 1
	if last < 0 {
		return make([]byte, shelfBytes)
	}
	r := t.rings[last]
	t.rings = t.rings[:last]
	return r
}

// clear resets an empty backlog, and keeps its memory for another backlog.
func (t *turns) clear(s *shelf) {
	if len(t.rings) < keepRings {
		t.rings = append(t.rings, s.ring)
	}
	*s = shelf{items: s.items[:0]}
}

// shelved adds a datagram to its peer's backlog and returns true, if that peer has used its
// time. A full backlog drops the datagram.
func (w *worker) shelved(t srd.Tuple, b []byte, size, packets int, ecn srd.ECN, at mono.Time) bool {
	index, ok := srd.DataIndex(b[:min(size, len(b))])
	if !ok {
		return false
	}
	p := w.loop.table.find(index).peer
	if p == nil || !p.turns[w.number].over(w.turns.round) {
		return false
	}
	if !w.turns.shelve(p, &p.turns[w.number], t, b, size, ecn, at) {
		w.loop.Drops.OutOfTurn.Add(uint64(packets))
	}
	return true
}

// spend adds the time since the start of the current datagram to p's used time.
func (w *worker) spend(p *Peer) {
	if w.turns.since == 0 {
		return
	}
	now := w.loop.Now()
	p.turns[w.number].charge(w.turns.round, now.Sub(w.turns.since))
	w.turns.since = now
}

// serveShelves serves the backlog of each waiting peer for turnTime.
func (w *worker) serveShelves() {
	if len(w.turns.waiting) == 0 {
		return
	}
	begin := w.loop.Now()
	for range len(w.turns.waiting) {
		p := w.turns.waiting[0]
		w.turns.waiting = w.turns.waiting[:copy(w.turns.waiting, w.turns.waiting[1:])]
		own := &p.turns[w.number]
		w.turns.since = w.loop.Now()
		for from := w.turns.since; !own.shelf.empty() && w.turns.since.Sub(from) < turnTime; {
			t, b, size, ecn, at := own.shelf.pop()
			w.take(t, b, size, ecn, at)
			w.turns.since = w.loop.Now()
		}
		if own.shelf.empty() {
			w.turns.clear(&own.shelf)
		} else {
			w.turns.waiting = append(w.turns.waiting, p)
		}
		if w.turns.since.Sub(begin) >= turnsMost {
			return
		}
	}
}
