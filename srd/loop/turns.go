package loop

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Peers share the sockets of a worker, and its time. One that sends more than the worker
// can take, or what takes long, would fill the sockets' buffers, and all others would wait
// behind it, and be dropped with it. So a peer has so much time in a round; what comes
// from it beyond that waits on a shelf of its own while the sockets are emptied for the
// others, and is served at the end of the round, peer by peer (deficit round robin by
// time: Shreedhar and Varghese, SIGCOMM 1995). When the shelf is full, that peer's packets
// are dropped and no one else's. Where there is one peer, nothing is measured.
const (
	// turnTime is a peer's time in a round, and again at its end: what roundPackets take
	// of an honest one, which therefore is hardly ever shelved.
	turnTime = 400 * time.Microsecond
	// turnsMost bounds the time for shelves in a round, so that sockets are looked at
	// before their buffers are full.
	turnsMost = 3 * turnTime
	// shelfLoops is how often more is drained from a socket than usual, while what it
	// gives is shelved: that takes a twentieth of the time.
	shelfLoops = 4
	// keepRings is how many rings a worker keeps for the next peers that need one, and
	// keepRounds for how long none may have.
	keepRings  = 4
	keepRounds = 10_000
)

// turn is a worker's account of one peer.
type turn struct {
	round uint64 // in which it had spent
	spent time.Duration
	shelf shelf
}

// over reports whether the peer has had its time in this round, or waits already.
func (t *turn) over(round uint64) bool {
	return !t.shelf.empty() || t.round == round && t.spent >= turnTime
}

func (t *turn) charge(round uint64, d time.Duration) {
	if t.round != round {
		t.round, t.spent = round, 0
	}
	t.spent += d
}

// turns is a worker's view of its peers.
type turns struct {
	round   uint64
	since   mono.Time // when the datagram being handled was begun with; 0: not measured
	waiting []*Peer   // those with something on their shelves, in the order of their turns
	rings   [][]byte  // not in use
	used    uint64    // round in which something was shelved last
}

// next begins a round.
func (t *turns) next() {
	if t.round++; t.round-t.used > keepRounds {
		t.rings = nil
	}
}

// shelve puts a datagram onto p's shelf, or reports that it is full.
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

// ring returns room for a shelf.
func (t *turns) ring() []byte {
	last := len(t.rings) - 1
	if last < 0 {
		return make([]byte, shelfBytes)
	}
	r := t.rings[last]
	t.rings = t.rings[:last]
	return r
}

// clear gives the room of an empty shelf back.
func (t *turns) clear(s *shelf) {
	if len(t.rings) < keepRings {
		t.rings = append(t.rings, s.ring)
	}
	*s = shelf{items: s.items[:0]}
}

// shelved puts the datagram d, if it is of a peer whose turn is over, on that peer's shelf.
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

// spend charges p with the time since the datagram at hand was begun with.
func (w *worker) spend(p *Peer) {
	if w.turns.since == 0 {
		return
	}
	now := w.loop.Now()
	p.turns[w.number].charge(w.turns.round, now.Sub(w.turns.since))
	w.turns.since = now
}

// serveShelves takes what waits, of each peer in turn for turnTime.
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
