package srd

import (
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// flight contains the packets in flight, the unacknowledged messages, and the
// retransmission queue. The type recovery detects losses, and the type paths detects
// failed paths.
type flight struct {
	*env
	keys *keyring

	out      outbox
	inflight int
	busy     steer.Set // paths with packets in flight
	timer    lossTimer
	reinject mono.Time // no message is late before this time; 0: nextReinjection has to search
	rate     meter
}

// lossTimer is the state of tail-loss detection for the whole connection.
type lossTimer struct {
	progress mono.Time // last acknowledgement of something new, or first packet after an idle time
	newest   mono.Time // sending time of the newest packet known to have arrived
	backoff  uint      // probe timeouts in a row
	probes   int       // copies of the oldest open message to send, even if the window is full
	lastSent mono.Time
	probed   mono.Time // last tail probe
	found    bool      // the peer has moved: the next retransmission uses the path of its last packet
}

// single builds a train of one packet on p. The function f appends the packet's frames.
func (fl *flight) single(t *Train, p *path, state ledger.State, size int, f func([]byte) []byte) {
	t.reset(p.tuple, fl.keys.send.keys)
	b := t.open(p.slot, p.sent.Next())
	b = f(b)
	t.close(b, 0, size)
	fl.record(p, ledger.Packet{At: t.at, State: state, Size: uint16(len(t.Buf))})
}

// record adds a new packet to the path's ledger, and counts it towards the packet limit of
// its keys.
func (fl *flight) record(p *path, k ledger.Packet) uint64 {
	fl.stats.TxBytes += uint64(k.Size)
	fl.keys.count(int(k.Size))
	if k.State == ledger.InFlight {
		fl.inflight += int(k.Size)
		p.inflight += int(k.Size)
		p.stats.Packets++
		p.stats.Bytes += uint64(k.Size)
		fl.busy.Add(int(p.slot))
		if fl.inflight == int(k.Size) {
			fl.timer.progress = k.At
		}
		fl.timer.lastSent = k.At
		return p.sent.Push(k)
	}
	pn := p.sent.Push(k)
	p.trim(k.At)
	return pn
}

// expectLate records the time from which messages that were sent on p at the time `at` may
// be late.
func (fl *flight) expectLate(p *path, at mono.Time) {
	if p.rtt.Known() {
		fl.reinject = fl.reinject.Min(at.Add(fl.lateAfter(p)))
	}
}

// queueRetransmit puts open message n into the retransmission queue.
func (fl *flight) queueRetransmit(n uint64) {
	if m := fl.out.at(n); !m.wants {
		m.wants = true
		fl.out.retx.push(n)
	}
}

// queueFirst puts open message n at the head of the retransmission queue.
func (fl *flight) queueFirst(n uint64) {
	q := &fl.out.retx
	if q.len() > 0 && q.peek() == n && fl.out.at(n).wants {
		return
	}
	fl.out.at(n).wants = true
	q.unshift(n)
}

// giveUp turns m into a tombstone. The message number is still sent, without the payload,
// so that the receiver does not wait for the message.
func (fl *flight) giveUp(m *outMsg, s Status) {
	m.release(s)
	m.void = true
	fl.stats.GivenUp++
	if m.tries == 0 {
		fl.stats.NeverRepaired++
	}
}

// voidAll gives up all unacknowledged payloads, because the peer does not answer. The
// message numbers stay in the outbox: if the same process of the peer answers again, both
// ends continue with these numbers.
func (fl *flight) voidAll() {
	for n := fl.out.first; n < fl.out.next; n++ {
		if m := fl.out.at(n); !m.acked && !m.void {
			fl.giveUp(m, Reset)
		}
	}
}

// settleAll removes all packets in flight on p from the flight, because p is out of use for
// good. Their messages are sent again on other paths.
func (fl *flight) settleAll(p *path) {
	for pn := p.sent.First(); pn < p.sent.Next(); pn++ {
		if k := p.sent.At(pn); k.State == ledger.InFlight {
			fl.settle(p, pn, k, ledger.Returned)
		}
	}
}

// loseUntil declares the packets on p lost that were sent at the time `until` or earlier,
// and returns their bytes. Delivered packets stay in flight. Otherwise a path that falls
// silent repeatedly would make room in the window again and again.
func (fl *flight) loseUntil(p *path, until mono.Time) (lost int) {
	for pn := max(p.lowest, p.sent.First()); pn < p.sent.Next(); pn++ {
		k := p.sent.At(pn)
		if k.State != ledger.InFlight || k.Delivered() {
			continue
		}
		if k.At > until {
			break
		}
		lost += int(k.Size)
		fl.lose(p, pn, k, ledger.Timed)
	}
	return lost
}

// settle removes packet pn from the flight. Unless the packet is delivered, it is declared
// lost.
func (fl *flight) settle(p *path, pn uint64, k *ledger.Packet, why ledger.Verdict) {
	if k.Delivered() {
		fl.land(p, k)
		k.State = ledger.Acked
		return
	}
	fl.lose(p, pn, k, why)
}

// lose declares packet pn lost, and queues its messages for retransmission.
func (fl *flight) lose(p *path, pn uint64, k *ledger.Packet, why ledger.Verdict) {
	fl.land(p, k)
	p.hole.swallow(k)
	k.State, k.Loss = ledger.Lost, why
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

// land subtracts packet k from the bytes in flight.
func (fl *flight) land(p *path, k *ledger.Packet) {
	fl.inflight -= int(k.Size)
	p.inflight -= int(k.Size)
	if p.inflight == 0 {
		fl.busy.Remove(int(p.slot))
	}
}

// silentAfter is the number of unanswered tail probes in a row after which all other
// sending stops. These probes have used up to 13 paths.
const silentAfter = 3

// silent reports whether the peer has left several tail probes unanswered. While the peer
// is silent, only probes are sent, as after a TCP timeout: other packets would most
// likely be lost too.
func (fl *flight) silent() bool { return fl.timer.backoff >= silentAfter && !fl.out.empty() }
