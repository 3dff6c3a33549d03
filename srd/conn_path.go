package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// idleAfter without traffic, paths that are down are left alone until there is
// traffic again: an idle tunnel sends nothing.
const idleAfter = 10 * time.Second

// strangerTries is how long a path that the peer opened may be down before it is
// forgotten, in probes at probeMost; strangerWait is how long one may stay a
// candidate. It is a little longer than candidateTries challenges take.
const (
	strangerTries = 30
	strangerWait  = 30 * time.Second
)

// pathOn returns our path on t, opening a candidate when there is none. It
// returns nil when there is no room.
func (c *Conn) pathOn(now mono.Time, t Tuple) *path {
	for _, p := range c.paths {
		if p.state == PathFree {
			continue
		}
		if p.tuple == t {
			return p
		}
		if p.tuple.Sock != t.Sock || p.tuple.Remote != t.Remote {
			continue
		}
		// The source address of a path of ours is only known for sure when the
		// first answer tells where it arrived. Until the kernel has chosen one
		// it is any.
		if !p.tuple.Local.IsValid() {
			p.tuple.Local = t.Local
			return p
		}
		if !t.Local.IsValid() {
			return p
		}
	}
	return c.openPath(now, t, false)
}

// openPath takes a slot for t as a candidate.
func (c *Conn) openPath(now mono.Time, t Tuple, ours bool) *path {
	p := c.freeSlot()
	if p == nil {
		p = c.reclaim(now)
	}
	if p == nil {
		c.drop(DropPathLimit)
		return nil
	}
	// The packet numbers of a slot that is used again go on where they were: a
	// nonce is never used twice, whatever becomes of paths and sessions.
	*p = path{slot: p.slot, tuple: t, state: PathCandidate, ours: ours, sent: p.sent, largest: p.largest, peerCE: p.peerCE, skipped: p.skipped, reorder: reorderFirst}
	p.until = now.Add(strangerWait)
	p.probe.next = now
	c.probing.Add(int(p.slot))
	return p
}

func (c *Conn) freeSlot() *path {
	for _, p := range c.paths {
		if p.state == PathFree {
			return p
		}
	}
	if len(c.paths) == steer.MaxPaths {
		return nil
	}
	p := &path{slot: uint16(len(c.paths))}
	c.paths = append(c.paths, p)
	return p
}

// reclaim frees a path for a tuple that the peer has just been heard on, when
// there is no room: the one that is least likely to be missed. It returns nil when
// all are in use.
func (c *Conn) reclaim(now mono.Time) *path {
	var least *path
	var worth mono.Time
	for _, p := range c.paths {
		if v := p.worth(now); v < mono.Never && (least == nil || v <= worth) {
			least, worth = p, v
		}
	}
	if least != nil {
		c.freePath(now, least)
	}
	return least
}

// quietAfter so long without a packet a path of the peer's may be given up for
// another. A busy peer sprays over all paths that work; an idle one that comes back
// to this one opens it again.
const quietAfter = 2 * time.Second

// worth ranks paths for reclaim. First go those of ours that were not tried yet, so
// that two sides that have more ports than there is room share it, then those that
// never answered, then those of the peer's that it has not used for longest. Never:
// not to be given up.
func (p *path) worth(now mono.Time) mono.Time {
	switch {
	case p.ours && p.state == PathCandidate && p.probe.tries == 0:
		return 0
	case p.ours && p.state == PathDown && !p.rtt.Known():
		return 1
	case !p.ours && p.state != PathCandidate && now.Sub(p.seen) > quietAfter:
		return max(2, p.seen)
	}
	return mono.Never
}

// freePath gives p's slot back.
func (c *Conn) freePath(now mono.Time, p *path) {
	c.handBack(now, p, 0)
	c.sure(p)
	p.state = PathFree
	c.usable.Remove(int(p.slot))
	c.probing.Remove(int(p.slot))
	for _, in := range c.in {
		if in != nil && in.path == p {
			in.path = nil
		}
	}
	if c.lastPath == p {
		c.lastPath = nil
	}
	c.resize()
}

// activate takes p into use.
func (c *Conn) activate(now mono.Time, p *path) {
	if p.state == PathCandidate || p.state == PathDown {
		c.cfg.Policy.Reset(int(p.slot))
	}
	c.place(p)
	p.state = PathActive
	c.mourn()
	p.mtu = max(p.mtu, BasePacket)
	c.usable.Add(int(p.slot))
	p.probe = probe{next: now, sizes: c.sizes(p)}
	c.probing.Add(int(p.slot))
	c.resize()
}

// mourn determines anew when the last of the paths that are silent fell so.
func (c *Conn) mourn() {
	c.fell = 0
	for _, p := range c.paths {
		if p.state == PathSuspect || p.state == PathDown {
			c.fell = max(c.fell, p.fell)
		}
	}
}

// sizes returns the packet sizes worth probing for on p, largest first.
func (c *Conn) sizes(p *path) []int {
	var v []int
	most := min(c.cfg.MTU(p.tuple), MaxPacket)
	// The largest first: mostly it passes. Then what tunnels and access lines
	// leave of 1500 bytes (PPPoE, IPv6, VXLAN, WireGuard).
	for _, s := range []int{most, 1472, 1452, 1432, 1392, 1332, 1272} {
		if s <= most && s > p.mtu && (len(v) == 0 || s < v[len(v)-1]) {
			v = append(v, s)
		}
	}
	return v
}

// resize sets the size of a full packet: what every usable path carries, so
// that a message can be sent again on any of them.
func (c *Conn) resize() {
	size := MaxPacket
	for _, p := range c.paths {
		if p.state == PathActive {
			size = min(size, p.mtu)
		}
	}
	if !c.usable.Empty() {
		c.packet = max(size, BasePacket)
		c.cfg.Control.Packet(c.packet)
	}
}

// challenged owes the peer a response on the path its challenge came on.
func (c *Conn) challenged(p *Packet, on *path, nonce uint64) {
	if on == nil || len(c.replies) == maxReplies {
		c.drop(DropPathLimit)
		return
	}
	c.replies = append(c.replies, reply{path: on, nonce: nonce, size: min(p.Size, BasePacket)})
}

// nextReply sends the first response owed.
func (c *Conn) nextReply(now mono.Time, t *Train) bool {
	for len(c.replies) > 0 {
		r := c.replies[0]
		if c.replies = c.replies[1:]; len(c.replies) == 0 {
			c.replies = nil
		}
		if r.path.state == PathFree {
			continue
		}
		r.path.owed = max(0, r.path.owed-r.size)
		c.single(now, t, r.path, ledger.Silent, r.size, func(b []byte) []byte {
			return wire.AppendNonce(b, wire.KindResponse, r.nonce)
		})
		return true
	}
	return false
}

// nextProbe sends the first challenge that is due.
func (c *Conn) nextProbe(now mono.Time, t *Train) bool {
	if c.probing.Empty() {
		return false
	}
	for _, p := range c.paths {
		if !c.probing.Has(int(p.slot)) || now < p.probe.next {
			continue
		}
		if p.silent() && !c.usable.Empty() && now < c.probeAt {
			p.probe.next = c.probeAt
			continue
		}
		size, wait, ok := c.planProbe(now, p)
		if !ok {
			continue
		}
		if p.silent() {
			c.probeAt = now.Add(c.probeGap(size))
		}
		q := &p.probe
		q.nonce, q.at, q.size, q.next = c.rng.Uint64(), now, size, now.Add(wait)
		q.tries++
		c.single(now, t, p, ledger.Silent, size, func(b []byte) []byte {
			return wire.AppendNonce(b, wire.KindChallenge, q.nonce)
		})
		t.Probe = size > p.mtu
		return true
	}
	return false
}

// probePart: probes of paths that fell silent take an eighth of what the window lets
// leave, at most. Many paths fall silent at once where all share a link that is full,
// and that is no place for as many packets more.
// Where round trips are long none waits for more than probeGapMost for each before it:
// then jitter silences paths as well, and to get them back soon is worth more.
const (
	probePart    = 8
	probeGapMost = probeFirst / 16
)

// probeGap returns how long after a probe of size bytes the next may go out.
func (c *Conn) probeGap(size int) time.Duration {
	share := probePart * float64(size) / float64(c.cfg.Control.Window())
	return min(probeGapMost, time.Duration(share*float64(c.rtt.Smoothed())))
}

// silent reports whether p carried data until nothing came back.
func (p *path) silent() bool { return p.state == PathSuspect || p.state == PathDown }

// planProbe decides the next challenge on p, which is due: its size and how
// long to wait for the answer. Without one p leaves the probing set.
func (c *Conn) planProbe(now mono.Time, p *path) (size int, wait time.Duration, ok bool) {
	q := &p.probe
	switch p.state {
	case PathCandidate:
		if !p.ours && now >= p.until {
			c.freePath(now, p)
			return 0, 0, false
		}
		if !p.ours && p.owed < BasePacket {
			// Amplification limit (RFC 9000 section 8): wait for more to come.
			q.next = p.until
			return 0, 0, false
		}
		if p.ours && q.tries >= candidateTries {
			p.state = PathDown
			return c.planProbe(now, p)
		}
		p.owed -= BasePacket
		return BasePacket, candidateWait(q.tries), true
	case PathSuspect, PathDown:
		return c.planSilent(now, p)
	case PathActive:
		switch {
		case q.hole && q.sizeTry >= holeTries:
			c.shrink(now, p)
		case !q.hole && len(q.sizes) > 0 && q.sizeTry >= mtuTries:
			q.sizes, q.sizeTry = q.sizes[1:], 0
		}
		if len(q.sizes) > 0 {
			q.sizeTry++
			return q.sizes[0], p.sizeWait(), true
		}
		if c.cfg.Keepalive > 0 && p.ours {
			return keepaliveSize, c.cfg.Keepalive, true
		}
	}
	c.probing.Remove(int(p.slot))
	q.next = mono.Never
	return 0, 0, false
}

// sizeWait returns how long a size probe is given. The answer to one that was
// followed by another is not known any more, so on a path that was taken into use
// by an acknowledgement, and not measured yet, that is as long as a path may take.
func (p *path) sizeWait() time.Duration {
	if !p.rtt.Known() {
		return probeMost
	}
	return max(mtuWait, 3*p.rtt.Smoothed())
}

// candidateWait returns how long the challenge after tries others is given.
func candidateWait(tries int) time.Duration {
	return min(candidateFirst<<min(tries, candidateTries), probeMost)
}

// again returns when the next challenge of a candidate may go out, however much
// arrives from there: only the newest one can be answered, so each is given its
// time.
func (q *probe) again() mono.Time {
	if q.tries == 0 {
		return 0
	}
	return q.at.Add(candidateWait(q.tries - 1))
}

// keepaliveSize is the smallest challenge: header, frame, tag.
const keepaliveSize = wire.Overhead + wire.NonceFrameLen

// planSilent plans the probes of a path that does not answer.
func (c *Conn) planSilent(now mono.Time, p *path) (size int, wait time.Duration, ok bool) {
	q := &p.probe
	if q.tries >= downAfter && p.state == PathSuspect {
		p.state, q.echoes = PathDown, 0
	}
	switch {
	case !p.ours && q.tries >= strangerTries:
		c.freePath(now, p)
		return 0, 0, false
	case now.Sub(max(c.active, c.lastHeard)) > idleAfter:
		c.probing.Remove(int(p.slot))
		c.dormant = true
		q.next = mono.Never
		return 0, 0, false
	}
	size = BasePacket
	switch {
	case q.tries < bigProbes:
		size = max(p.mtu, BasePacket)
	case q.echoes > 0 && q.sizeTry < mtuTries:
		// It answers again, if only small packets so far. Before everybody has
		// to send small ones for its sake, see whether its MTU is what it was.
		q.sizeTry++
		size = max(p.mtu, BasePacket)
	}
	return size, max(min(probeFirst<<min(q.tries, 7), probeMost), 2*p.rtt.Base()), true
}

// wake plans the probes of paths that were left alone while idle.
func (c *Conn) wake(now mono.Time) {
	c.dormant = false
	for _, p := range c.paths {
		if (p.state == PathDown || p.state == PathSuspect) && !c.probing.Has(int(p.slot)) {
			p.probe = probe{next: now}
			c.probing.Add(int(p.slot))
		}
	}
}

// answered takes a path response.
func (c *Conn) answered(now mono.Time, nonce uint64) {
	for _, p := range c.paths {
		q := &p.probe
		if p.state == PathFree || q.at == 0 || q.nonce != nonce || now.Sub(q.at) > sampleMost {
			continue
		}
		if !p.rtt.Known() || p.inflight == 0 {
			p.rtt.Add(now, max(now.Sub(q.at), time.Microsecond))
		}
		if !c.rtt.Known() {
			c.rtt.Add(now, p.rtt.Smoothed())
		}
		c.cfg.Control.Base(p.rtt.Base())
		size := q.size
		if size > BasePacket {
			p.hole.pass(q.at)
		}
		q.at = 0
		c.proven(now, p, size)
		return
	}
}

// proven takes it that a challenge of size bytes has gone to the peer and back.
func (c *Conn) proven(now mono.Time, p *path, size int) {
	q := &p.probe
	if p.silent() {
		// It works, so what it fell silent over was lost among others: packets keep
		// their order on it, and those would have arrived before the challenge.
		p.lossy = now
	}
	switch p.state {
	case PathCandidate, PathSuspect:
		p.mtu = size
		c.activate(now, p)
	case PathDown:
		// Where no other path is left, one that carries small packets, for now at least,
		// is better than none.
		if q.echoes++; q.echoes < provenEchoes && !c.usable.Empty() {
			q.next = now.Add(probeFirst)
			return
		}
		p.mtu = size
		c.activate(now, p)
	case PathActive:
		if size > p.mtu {
			p.mtu = size
			c.resize()
		}
		if len(q.sizes) > 0 && size >= q.sizes[0] {
			q.sizes, q.hole = nil, false
			if c.cfg.Keepalive > 0 && p.ours {
				q.next = now.Add(c.cfg.Keepalive)
			} else {
				c.probing.Remove(int(p.slot))
				q.next = mono.Never
			}
		}
	}
}

// advanceProbes wakes dormant probing when traffic is back. The probes
// themselves are sent by Next.
func (c *Conn) advanceProbes(now mono.Time) {
	if c.dormant && now.Sub(max(c.active, c.lastHeard)) < idleAfter {
		c.wake(now)
	}
}

// probeDeadline returns when the next probe is due.
func (c *Conn) probeDeadline() mono.Time {
	at := mono.Never
	if len(c.replies) > 0 {
		return c.clock
	}
	if c.probing.Empty() {
		return at
	}
	for _, p := range c.paths {
		if c.probing.Has(int(p.slot)) {
			at = at.Min(p.probe.next)
		}
	}
	return at
}

// SetTuples tells where the peer may be reached from here: all local x remote
// addresses and ports. Paths of ours on tuples no longer listed are dropped,
// new ones are opened as soon as there is a session.
func (c *Conn) SetTuples(now mono.Time, tuples []Tuple) {
	c.tuples = tuples
	for _, p := range c.paths {
		if p.ours && p.state != PathFree && !c.listed(p.tuple) {
			p.ours = false
		}
	}
	if c.session.ready(now) {
		c.openAll(now)
	}
}

func (c *Conn) listed(t Tuple) bool {
	for i := range c.tuples {
		u := &c.tuples[i]
		if u.Sock == t.Sock && u.Remote == t.Remote && (u.Local == t.Local || !u.Local.IsValid()) {
			return true
		}
	}
	return false
}

// openEvery is the time between the first challenges of new paths.
const openEvery = 300 * time.Microsecond

// openAll opens a path on every tuple that has none.
func (c *Conn) openAll(now mono.Time) {
	for i := range c.tuples {
		if len(c.paths) < steer.MaxPaths || c.freeSlot() != nil {
			if p := c.pathOn(now, c.tuples[i]); p != nil {
				p.ours = true
				if p.state == PathCandidate && p.probe.tries == 0 {
					// One after the other, or the challenges queue up behind
					// each other and every path looks long.
					p.probe.next = now.Add(time.Duration(i) * openEvery)
				}
			}
		}
	}
}
