package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// recovery knows what is unacknowledged, decides what is lost, and when it is sent again.
type recovery struct {
	*env
	keys   *keyring
	paths  *paths
	choice *choice

	out      outbox
	inflight int
	freed    int       // of inflight, in packets whose messages were acknowledged by number
	busy     steer.Set // paths with packets in flight
	timer    lossTimer
	limited  mono.Time // when the window or pacing last held back sending
	reinject mono.Time // not before then is any message late; 0 if that is to be found out
	rate     meter
	copies   int // what may be spent on copies of what is late, in messages acknowledged
	nextSkip int // packets until a packet number is skipped
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
func (rc *recovery) single(now mono.Time, t *Train, p *path, state ledger.State, size int, f func([]byte) []byte) {
	t.reset(p.tuple, rc.keys.send.keys)
	b := t.open(p.slot, p.sent.Next())
	b = f(b)
	t.close(b, 0, size)
	rc.record(now, p, ledger.Packet{At: now, State: state, Size: uint16(len(t.Buf))})
}

// record enters a packet just built into the path's ledger, and counts it for the keys
// that it will be sealed with.
func (rc *recovery) record(now mono.Time, p *path, k ledger.Packet) uint64 {
	rc.stats.TxBytes += uint64(k.Size)
	rc.keys.count(int(k.Size))
	if k.State == ledger.InFlight {
		if p.inflight == p.freed.bytes {
			p.since, p.stale = now, false
		}
		rc.inflight += int(k.Size)
		p.inflight += int(k.Size)
		p.stats.Packets++
		p.stats.Bytes += uint64(k.Size)
		rc.busy.Add(int(p.slot))
		if rc.inflight-rc.freed == int(k.Size) {
			rc.timer.progress = now
		}
		rc.timer.lastSent = now
		if k.Marks&ledger.Follows == 0 && p.rtt.Known() {
			rc.reinject = rc.reinject.Min(now.Add(rc.copyAfter(p)))
		}
		return p.sent.Push(k)
	}
	pn := p.sent.Push(k)
	p.trim(now)
	return pn
}

// retransmission returns the first message that waits to be sent again, if it
// may be sent now: within the window, or as the probe of a tail.
func (rc *recovery) retransmission(now mono.Time) (uint64, bool) {
	q := &rc.out.retx
	for q.len() > 0 && (!rc.out.open(q.peek()) || !rc.out.at(q.peek()).wants) {
		q.pop()
	}
	if q.len() == 0 || ((rc.silent() || rc.inflight >= rc.cfg.Control.Window()) && rc.timer.probes == 0) {
		return 0, false
	}
	return q.peek(), true
}

// maybeSkip leaves out a packet number now and then.
func (rc *recovery) maybeSkip(p *path) {
	if rc.nextSkip--; rc.nextSkip <= 0 {
		rc.nextSkip = rc.skipGap()
		p.skipped = p.sent.Push(ledger.Packet{State: ledger.Skipped}) + 1
	}
}

// skipEvery is the mean number of packets between packet numbers left out,
// to catch a peer that acknowledges what it has not received.
const skipEvery = 4096

func (rc *recovery) skipGap() int { return 1 + rc.rng.IntN(2*skipEvery) }

// queueRetransmit puts open message n into the queue of those to be sent again.
func (rc *recovery) queueRetransmit(n uint64) {
	if m := rc.out.at(n); !m.wants {
		m.wants = true
		rc.out.retx.push(n)
	}
}

// queueFirst puts open message n at the head of the line to be sent again.
func (rc *recovery) queueFirst(n uint64) {
	q := &rc.out.retx
	if q.len() > 0 && q.peek() == n && rc.out.at(n).wants {
		return
	}
	rc.out.at(n).wants = true
	q.unshift(n)
}

// expire gives m's payload up when it has been repaired for long enough.
func (rc *recovery) expire(now mono.Time, m *outMsg) {
	limit := giveUpStream
	switch d, timed := m.m.Class.deadline(); {
	case m.m.Class == Reliable:
		return
	case timed:
		if !m.void && now.Sub(m.first) >= d {
			rc.giveUp(m, GivenUp)
		}
		return
	case m.tries == 0:
		limit = firstRepairMost
	case m.m.Class == Datagram:
		limit = giveUpDatagram
	}
	if !m.void && (m.fails >= giveUpFails || now.Sub(m.first) > rc.worth(limit)) {
		rc.giveUp(m, GivenUp)
	}
}

// expireDue gives up the payloads whose deadline is over, in flight or not. Nobody waits
// longer to be told than he has to.
func (rc *recovery) expireDue(now mono.Time) {
	o := &rc.out
	if o.due == 0 || now < o.due {
		return
	}
	o.due = 0
	for n := o.first; n < o.next; n++ {
		m := o.at(n)
		d, timed := m.m.Class.deadline()
		if !timed || m.void || m.acked {
			continue
		}
		if rc.expire(now, m); !m.void {
			o.expect(max(m.first.Add(d), now.Add(dueEvery)))
		}
	}
}

// giveUp turns m into a tombstone: its number still travels, so that the
// receiver does not wait for it, but not its payload.
func (rc *recovery) giveUp(m *outMsg, s Status) {
	m.release(s)
	m.void = true
	rc.stats.GivenUp++
	if m.tries == 0 {
		rc.stats.NeverRepaired++
	}
}

// worth returns for how long a payload is repaired: for least, but on a long path for the
// time of a few round trips. One that was not measured yet may take as long as TCP allows
// its first (RFC 6298 section 2).
func (rc *recovery) worth(least time.Duration) time.Duration {
	if !rc.rtt.Known() {
		return max(least, firstRepairMost)
	}
	return max(least, 4*rc.rtt.Smoothed())
}

// handBack takes everything in flight on p for lost, to be sent again. p is not used any more.
func (rc *recovery) handBack(p *path) {
	rc.loseAll(p, 0)
	rc.settleFreed(p)
}

// loseAll is handBack for a path that may be used again soon: what was freed stays in
// flight, or a path that falls silent again and again would empty the window. mark says why.
func (rc *recovery) loseAll(p *path, mark ledger.Mark) {
	for pn := p.sent.First(); pn < p.sent.Next(); pn++ {
		if k := p.sent.At(pn); k.State == ledger.InFlight {
			rc.lose(p, pn, k)
			k.Marks |= mark
		}
	}
}

// voidAll gives up every payload that waits, as nobody answers. The numbers stay: the peer, if it
// comes back as the process it was, counts on from them.
func (rc *recovery) voidAll() {
	for n := rc.out.first; n < rc.out.next; n++ {
		if m := rc.out.at(n); !m.acked && !m.void {
			rc.giveUp(m, Reset)
		}
	}
}

// lateAt returns when message n should have been acknowledged; Never when it is not
// in flight, or has been copied often enough.
func (rc *recovery) lateAt(n uint64) mono.Time {
	if !rc.out.open(n) {
		return mono.Never
	}
	m := rc.out.at(n)
	p := rc.paths.table[m.slot]
	k := p.sent.At(m.pn)
	if m.void || m.tries >= copyTries || k == nil || k.State != ledger.InFlight || !p.rtt.Known() {
		return mono.Never
	}
	return k.At.Add(rc.copyAfter(p))
}

// sentAt returns when the packet in flight left that message n, which is open, travelled in last.
func (rc *recovery) sentAt(n uint64) mono.Time {
	m := rc.out.at(n)
	return rc.paths.table[m.slot].sent.At(m.pn).At
}
