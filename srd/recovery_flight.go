package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// flight is what is under way: packets in flight, messages that are not acknowledged, and of
// these the ones that wait to be sent again. What is lost is for recovery to say, and what
// becomes of a path for paths.
type flight struct {
	*env
	keys *keyring

	out      outbox
	inflight int
	freed    int       // of inflight, in packets whose messages were acknowledged by number
	busy     steer.Set // paths with packets in flight
	timer    lossTimer
	reinject mono.Time // not before then is any message late; 0 if that is to be found out
	rate     meter
}

// lossTimer is the tail-loss state of the whole connection.
type lossTimer struct {
	progress mono.Time // last acknowledgement of something new, or first send after idle
	newest   mono.Time // sending time of the newest packet known to have arrived
	backoff  uint
	probes   int // copies of the oldest open message to send, whatever the window says
	lastSent mono.Time
	probed   mono.Time // last tail probe
	found    bool      // the next copy goes where the peer was just found: it has moved
}

// single builds a train of one packet on p whose frames f appends.
func (fl *flight) single(t *Train, p *path, state ledger.State, size int, f func([]byte) []byte) {
	t.reset(p.tuple, fl.keys.send.keys)
	b := t.open(p.slot, p.sent.Next())
	b = f(b)
	t.close(b, 0, size)
	fl.record(p, ledger.Packet{At: t.at, State: state, Size: uint16(len(t.Buf))})
}

// meanLife is for how long after the last acknowledgement the mean round trip is one of now. The
// queue that made it long has drained since, and a tail probe would wait for that still.
const meanLife = time.Second

// record enters a packet just built into the path's ledger, and counts it for the keys
// that it will be sealed with.
func (fl *flight) record(p *path, k ledger.Packet) uint64 {
	fl.stats.TxBytes += uint64(k.Size)
	fl.keys.count(int(k.Size))
	if k.State == ledger.InFlight {
		if p.inflight == p.freed.bytes {
			p.since, p.stale = k.At, false
		}
		fl.inflight += int(k.Size)
		p.inflight += int(k.Size)
		p.stats.Packets++
		p.stats.Bytes += uint64(k.Size)
		fl.busy.Add(int(p.slot))
		if fl.inflight-fl.freed == int(k.Size) {
			if fl.timer.progress != 0 && k.At.Sub(fl.timer.progress) > meanLife {
				fl.rtt.Age()
			}
			fl.timer.progress = k.At
		}
		fl.timer.lastSent = k.At
		if k.Marks&ledger.Follows == 0 && p.rtt.Known() {
			fl.reinject = fl.reinject.Min(k.At.Add(fl.copyAfter(p)))
		}
		return p.sent.Push(k)
	}
	pn := p.sent.Push(k)
	p.trim(k.At)
	return pn
}

// queueRetransmit puts open message n into the queue of those to be sent again.
func (fl *flight) queueRetransmit(n uint64) {
	if m := fl.out.at(n); !m.wants {
		m.wants = true
		fl.out.retx.push(n)
	}
}

// queueFirst puts open message n at the head of the line to be sent again.
func (fl *flight) queueFirst(n uint64) {
	q := &fl.out.retx
	if q.len() > 0 && q.peek() == n && fl.out.at(n).wants {
		return
	}
	fl.out.at(n).wants = true
	q.unshift(n)
}

// giveUp turns m into a tombstone: its number still travels, so that the
// receiver does not wait for it, but not its payload.
func (fl *flight) giveUp(m *outMsg, s Status) {
	m.release(s)
	m.void = true
	fl.stats.GivenUp++
	if m.tries == 0 {
		fl.stats.NeverRepaired++
	}
}

// voidAll gives up every payload that waits, as nobody answers. The numbers stay: the peer, if it
// comes back as the process it was, counts on from them.
func (fl *flight) voidAll() {
	for n := fl.out.first; n < fl.out.next; n++ {
		if m := fl.out.at(n); !m.acked && !m.void {
			fl.giveUp(m, Reset)
		}
	}
}

// handBack takes everything in flight on p for lost, to be sent again. p is not used any more.
func (fl *flight) handBack(p *path) {
	fl.loseAll(p, 0)
	fl.settleFreed(p)
}

// loseAll is handBack for a path that may be used again soon: what was freed stays in
// flight, or a path that falls silent again and again would empty the window. mark says why.
func (fl *flight) loseAll(p *path, mark ledger.Mark) {
	for pn := p.sent.First(); pn < p.sent.Next(); pn++ {
		if k := p.sent.At(pn); k.State == ledger.InFlight {
			fl.lose(p, pn, k)
			k.Marks |= mark
		}
	}
}

// lose takes packet pn for lost and hands its messages back.
func (fl *flight) lose(p *path, pn uint64, k *ledger.Packet) {
	fl.land(p, k)
	p.hole.swallow(k)
	k.State = ledger.Lost
	p.stats.Lost++
	for n := k.First; n < k.First+uint64(k.N); n++ {
		if !fl.out.open(n) {
			continue
		}
		if m := fl.out.at(n); m.slot == p.slot && m.pn == pn {
			fl.queueRetransmit(n)
		}
	}
}

// land takes a packet out of flight.
func (fl *flight) land(p *path, k *ledger.Packet) {
	if k.State == ledger.Freed {
		fl.freed -= int(k.Size)
		p.freed.bytes -= int(k.Size)
	}
	fl.inflight -= int(k.Size)
	p.inflight -= int(k.Size)
	p.stale = true
	if p.inflight == 0 {
		fl.busy.Remove(int(p.slot))
	}
}

// settle has done with a packet whose messages have arrived: it leaves the window, and
// nobody is told.
func (fl *flight) settle(p *path, k *ledger.Packet) {
	fl.land(p, k)
	k.State = ledger.Acked
}

// settleFreed settles all that was freed on p.
func (fl *flight) settleFreed(p *path) {
	for pn := p.sent.First(); pn < p.sent.Next() && p.freed.bytes > 0; pn++ {
		if k := p.sent.At(pn); k.State == ledger.Freed {
			fl.settle(p, k)
		}
	}
}

// silentAfter so many tail probes without an answer nothing else is sent.
// Three have tried three paths.
const silentAfter = 3

// silent reports whether the peer has said nothing for several tail probes.
// Then the probes are all that is sent, as after a TCP timeout: what went out
// with them would most likely be lost too, again and again.
func (fl *flight) silent() bool { return fl.timer.backoff >= silentAfter && !fl.out.empty() }
