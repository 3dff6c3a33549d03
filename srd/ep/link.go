package ep

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
)

// assemblyMost is the time without progress after which a message loses its receive. A
// retransmission on a working path takes less time.
const assemblyMost = 10 * time.Second

// link holds the requests between an endpoint and one peer, in both directions, and their
// transport. A link implements loop.App and sink. When the transport has to end, a new link
// takes over the requests of which nothing was sent yet.
type link struct {
	srd.OneFlow
	carrier
	ep     *Endpoint
	remote PublicKey
	outlet loop.Outlet // passes on arrived messages in Flush
	quota  *quota      // nil: no bound
	hungry bool        // the link is in receives.hungry, whose lock protects this field

	// The carrier's lock protects the following fields.
	out      outgoing
	in       incoming
	dead     bool // another link has replaced this link
	ending   bool // another link is about to replace this link
	serve    bool // Pull last chose a reply, not a request
	goodbyes uint64
	heard    uint64
	silent   mono.Time // when the peer fell silent while requests wait for it; 0: no request waits
	used     mono.Time // time of the last message, or of the last request to send one
}

func (e *Endpoint) newLink(key PublicKey, barred bool, q *quota) *link {
	l := &link{ep: e, remote: key, quota: q, used: e.loop.Now()}
	l.made = make(chan struct{})
	l.out = outgoing{finish: e.finish, refuse: func() { e.counts.notReady.Add(1) }}
	l.in = incoming{from: l, holdMost: max(1, e.cfg.ReceiveDepth/2), barred: barred}
	e.connect(key, l)
	return l
}

// Pull implements srd.Source.
func (l *link) Pull(now mono.Time, most int) (srd.Message, bool) {
	switch {
	case l.ending:
		return srd.Message{}, false
	case l.in.answers.waiting() && most >= answerLen:
		return l.in.answers.pull(most), true
	}
	// Requests and replies alternate.
	if l.serve = !l.serve; l.serve {
		if m, ok := l.in.reads.pull(most); ok {
			return m, true
		}
	}
	if m, ok := l.out.pull(now, most); ok {
		return m, true
	}
	if m, ok := l.in.reads.pull(most); ok {
		return m, true
	}
	if l.in.answers.waiting() && most >= answerLen { // a reply was denied in the meantime
		return l.in.answers.pull(most), true
	}
	return srd.Message{}, false
}

// Joined implements loop.App.
func (l *link) Joined(p *loop.Peer) { l.peer = p }

// Backlog implements loop.App.
func (l *link) Backlog() bool {
	return !l.ending && (l.in.answers.waiting() || l.out.backlog() || l.in.reads.active.len() > 0)
}

// Deliver implements loop.App.
func (l *link) Deliver(now mono.Time, m *srd.Message) {
	if l.ending || l.dead {
		return
	}
	h, ok := parse(&m.Imm, len(m.Data), m.Expired)
	switch {
	case !ok:
	case h.kind == kindAnswer:
		ok = l.out.answer(now, m.Data, h.ready)
	case h.kind == kindReply:
		ok = l.out.reply(&h, m.Data)
	case h.kind == kindRead:
		l.used = now
		ok = l.in.read(&h, m.Data)
	default:
		l.used = now
		ok = l.in.add(now, &h, m.Data, m.Expired)
	}
	if !ok {
		l.ep.counts.violations.Add(1)
		l.end(StatusRemoteInvalid)
	}
}

// end completes all requests and lets another link take over.
func (l *link) end(s Status) {
	l.ending = true
	l.in.reset()
	l.out.end(s)
}

// Restarted implements loop.App.
func (l *link) Restarted(mono.Time) { l.begun(&l.ep.counts.restarts) }

// begun ends the requests that began in a session that has ended, and counts its end in `why`.
// Requests that have not begun are kept and start in the next session.
func (l *link) begun(why *atomic.Uint64) {
	why.Add(1)
	l.in.reset()
	l.out.reset()
}

// Advance implements loop.App.
func (l *link) Advance(now mono.Time) {
	if l.ending || l.dead {
		return
	}
	l.in.expire(now)
	l.out.expire(now)
	s := l.state(now)
	if s.goodbyes > l.goodbyes && !s.ready {
		l.begun(&l.ep.counts.goodbyes)
	}
	l.goodbyes = s.goodbyes
	l.listen(now, &s)
	switch idle := l.ep.cfg.IdleTimeout; {
	case l.broken():
		l.begun(&l.ep.counts.lost)
		l.ending = true
	case s.foreign && !l.out.idle():
		l.end(StatusBadDestination)
	case l.silent != 0 && now >= l.silent.Add(l.ep.cfg.Unresponsive):
		l.end(StatusUnresponsive)
	case idle > 0 && s.ready && l.resting() && now >= l.used.Add(idle):
		l.ending = true
	}
}

// broken reports whether the transport has dropped a message because the session has ended.
func (l *link) broken() bool { return l.out.broken || l.in.answers.broken || l.in.reads.broken }

// resting reports whether no request is in progress in either direction.
func (l *link) resting() bool {
	return l.idle() && len(l.in.parts) == 0 && l.in.answers.unheard() == 0
}

// idle reports whether there is nothing to send to the peer.
func (l *link) idle() bool { return l.out.idle() && l.in.reads.idle() }

// listen records when the peer falls silent while requests wait for its answer.
func (l *link) listen(now mono.Time, s *standing) {
	switch {
	case l.idle():
		l.silent = 0
	case l.silent == 0 || s.heard != l.heard:
		l.silent = now
	}
	l.heard = s.heard
}

// Deadline implements loop.App.
func (l *link) Deadline() mono.Time {
	switch {
	case l.dead || l.ending:
		return mono.Never
	case l.broken():
		return l.loop.Now()
	}
	at := l.out.deadline()
	if l.in.stale != 0 {
		at = at.Min(l.in.stale)
	}
	if !l.idle() {
		since := l.silent
		if since == 0 {
			since = l.loop.Now()
		}
		at = at.Min(since.Add(l.ep.cfg.Unresponsive))
	} else if idle := l.ep.cfg.IdleTimeout; idle > 0 && l.state(l.loop.Now()).ready && l.resting() {
		at = at.Min(l.used.Add(idle))
	}
	return at
}

// Flush implements loop.App. After passing on data, Flush yields this processor to the program.
// Otherwise the worker would keep Go's processor (P) even while it sleeps, and the program would
// wait for another one.
func (l *link) Flush() bool {
	did := l.outlet.Run(false, l.flush)
	if l.ep.woken.Swap(false) {
		runtime.Gosched()
	}
	return did
}

func (l *link) flush() (did bool) {
	<-l.made
	l.lock()
	ending := l.ending && !l.dead
	l.unlock()
	if ending {
		l.ep.renew(l)
	}
	return l.ep.announce() || ending
}

// take implements sink.
func (l *link) take(size int, counts bool) (receive, verdict) {
	counts = counts && l.quota != nil
	if counts && !l.quota.take(l) {
		l.ep.counts.refused.Add(1)
		return receive{}, notReady
	}
	r, v := l.ep.receives.take(l, size)
	switch {
	case counts && v == accepted:
		r.quota = l.quota
	case counts:
		l.quota.give() // no other link waits for the quota, because take has just succeeded
	}
	switch v {
	case notReady:
		l.ep.counts.refused.Add(1)
	case tooLong:
		l.ep.counts.tooLong.Add(1)
	}
	return r, v
}

// giveBack implements sink. The announcement to another peer waits until this link is unlocked.
func (l *link) giveBack(r receive) {
	if q := r.quota; q != nil {
		r.quota = nil
		if tell := q.give(); tell != nil {
			l.ep.tellLater(tell)
		}
	}
	if tell := l.ep.receives.giveBack(r); tell != nil {
		l.ep.tellLater(tell)
	}
}

// find implements sink.
func (l *link) find(at Remote, size int, access Access) *Region {
	r := l.ep.regions.find(l.remote, at, size, access)
	switch {
	case r == nil:
		l.ep.counts.denied.Add(1)
	case access == AccessRead:
		l.ep.counts.read.Add(1)
	}
	return r
}

// deliver implements sink.
func (l *link) deliver(p *part) {
	if p.region != nil {
		l.ep.counts.written.Add(1)
		if !p.reserved {
			return
		}
	}
	c := Completion{
		Op: OpReceive, Context: p.r.context, From: l.remote,
		Solicited: p.flags&flagSolicited != 0, slot: l.ep.receives.slots, quota: p.r.quota,
	}
	if p.flags&flagImmediate != 0 {
		c.Immediate, c.HasImmediate = p.immediate(), true
	}
	if p.region != nil {
		c.Op, c.Data, c.Region, c.Bytes = OpWritten, p.r.buf[:0], p.region, p.bytes()
	} else {
		c.Data = p.r.buf[:p.bytes()]
		l.ep.counts.received.Add(1)
	}
	l.ep.arrivals.add(c)
	l.ep.woken.Store(true)
}
