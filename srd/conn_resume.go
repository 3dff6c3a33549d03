package srd

import (
	"errors"
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/mono"
)

// A connection that goes on in another process. Its peer notices a pause and nothing else:
// incarnations, keys, paths and all numbers stay.
//
// No nonce is used twice, since packet numbers are given out by a Conn that has keys, and
// of two never more than one has them:
//
//	this process                       the next
//	Suspend: numbers so far and the
//	  keys go into the State; the Conn
//	  has none any more, and takes
//	  none ever again (session.over)
//	                                   Resume: numbers from there on
//
// A train that was built before Suspend, and not sealed, has numbers below those of the
// State. That a State is used once is for its owner to see to (package handover).

// owedFor is how long ago a packet may have come for it to be acknowledged by the next
// process: what its sender still waits to hear of. That tells it at once where we are.
const owedFor = time.Second

// Suspend ends the connection for good, and returns what another process needs to go on in
// its place. ok is false, and nothing changes, when there is no session. Recv must have been
// drained. Payloads that are not acknowledged are given back, as with Close; the next
// process sends tombstones for them.
func (c *Conn) Suspend(now mono.Time) (st *State, ok bool) {
	s := &c.session
	if !s.ready(now) || !s.met || s.over || s.liar.waits(now) {
		return nil, false
	}
	if c.receiver.taken < len(c.receiver.received) {
		panic("srd: suspended with messages that nobody has taken")
	}
	st = &State{
		own: c.cfg.Incarnation, peer: s.incarnation, newest: s.replay.Newest(), since: s.since,
		heard: c.lastHeard, active: c.active, smoothed: uint64(c.rtt.Smoothed()), strayed: c.paths.strayed,
		missing: c.receiver.inbox.FirstMissing(),
	}
	c.suspendPaths(st)
	c.suspendArrivals(now, st)
	c.suspendOutbox(st)
	// From here on nothing can be sealed: what is above was counted to the end.
	for i, e := range []**epoch{&s.send, &s.prev, &s.next, &s.other} {
		if *e != nil {
			st.epochs[i] = (*e).suspend()
			s.retire(e)
		}
	}
	s.over = true
	s.calls.abandon()
	s.callAt, s.out, s.last = 0, nil, response{}
	s.dropAddresses()
	c.recovery.out.reset()
	return st, true
}

// suspend takes the keys out of an epoch. Those that seal a train already have their own.
func (e *epoch) suspend() epochState {
	v := epochState{
		cipher: e.cipher, features: e.features, sent: e.sent, peer: e.peer,
		sendKey: e.keys.key, sendIV: e.keys.iv, recvKey: e.recv.key, recvIV: e.recv.iv,
		local: uint64(e.recv.local), remote: uint64(e.keys.remote),
		created: e.created, called: e.called, dies: e.dies,
	}
	for i, set := range []bool{e.initiator, e.heard, e.proven, e.crossed} {
		if set {
			v.flags |= 1 << i
		}
	}
	e.keys.key, e.recv.key = rawKey{}, rawKey{}
	return v
}

func (c *Conn) suspendPaths(st *State) {
	for _, p := range c.paths.table {
		v := pathState{state: p.state, next: p.sent.Next(), largest: p.largest, peerCE: uint64(p.peerCE)}
		if p.skipped > p.sent.First() && v.next-p.skipped <= trapMost {
			v.trap = p.skipped
		}
		if p.state != PathFree {
			v.tuple, v.mtu, v.want = p.tuple, uint64(p.mtu), uint64(p.probe.want)
			v.smoothed, v.base = uint64(p.rtt.Smoothed()), uint64(p.rtt.Base())
			v.heard, v.seen, v.fell = p.heard, p.seen, p.fell
			for i, set := range []bool{p.ours, p.validated, p.unsized} {
				if set {
					v.flags |= 1 << i
				}
			}
		}
		st.paths = append(st.paths, v)
	}
	if p := c.receiver.lastPath; p != nil {
		st.lastPath = uint64(p.slot) + 1
	}
}

func (c *Conn) suspendArrivals(now mono.Time, st *State) {
	for _, in := range c.receiver.in {
		if in == nil || in.seen.Next() == 0 {
			continue
		}
		st.in = append(st.in, inState{
			slot: uint64(in.slot), next: in.seen.Next(), told: min(in.told[1], in.seen.Next()), ce: uint64(in.ce), latest: in.seen.Latest(), at: in.at,
			owed: in.slot != candidateSlot && (in.queued || now.Sub(in.at) < owedFor),
		})
	}
	var words [aboveMost]uint64
	n := c.receiver.inbox.Words(words[:])
	st.above = append(st.above, words[:n]...)
}

func (c *Conn) suspendOutbox(st *State) {
	o := &c.recovery.out
	st.outFirst, st.outNext = o.first, o.next
	for n := o.first; n < o.next; n++ {
		if m := o.at(n); !m.acked {
			st.open = append(st.open, openState{n, uint64(m.m.Flow), m.m.Imm})
		}
	}
}

// Why a state is not gone on from.
var (
	errStateOld    = errors.New("its keys are too old")
	errStateCipher = errors.New("its cipher is not to be used any more")
	errStateIndex  = errors.New("its receiver index is taken")
	errStateTime   = errors.New("its times do not fit the clock")
)

// Resume makes a connection that is as New returns it go on from a state, which is wiped.
// After an error it is as it was.
func (c *Conn) Resume(now mono.Time, st *State) error {
	defer st.Wipe()
	s := &c.session
	if len(c.paths.table) > 0 || s.since != 0 || s.calls.busy() || s.over {
		panic("srd: a connection that has begun cannot go on from a state")
	}
	if err := c.resumable(now, st); err != nil {
		return err
	}
	var epochs [epochCount]*epoch
	for i := range st.epochs {
		e, err := c.session.revive(&st.epochs[i])
		if err != nil {
			for j := range epochs {
				s.retire(&epochs[j])
			}
			return err
		}
		epochs[i] = e
	}
	for _, e := range epochs {
		if e != nil {
			s.cfg.Indexes.Publish(e.recv.local, e.recv)
		}
	}
	s.send, s.prev, s.next, s.other = epochs[epochSend], epochs[epochPrev], epochs[epochNext], epochs[epochOther]
	c.clock, c.cfg.Incarnation = now, st.own
	s.incarnation, s.met, s.since = st.peer, true, st.since
	s.replay.Resume(st.newest)
	c.lastHeard, c.active = min(now, st.heard), min(now, st.active)
	c.recovery.timer = lossTimer{progress: now, lastSent: now}
	c.resumePaths(now, st)
	c.resumeArrivals(now, st)
	c.resumeOutbox(now, st)
	s.holdAddresses()
	return nil
}

// resumable reports why the keys of a state are not to be used, nil if they are.
func (c *Conn) resumable(now mono.Time, st *State) error {
	e := &st.epochs[epochSend]
	switch {
	case e.created > now || st.since > now || st.since == 0:
		return errStateTime
	case now.Sub(e.created) >= c.session.life.reject || e.sent >= c.session.life.rejectPackets:
		return errStateOld
	case !c.cfg.Offers.Has(e.cipher):
		return errStateCipher
	}
	return nil
}

// revive makes an epoch of its state, with its index reserved; nil if there was none.
func (s *session) revive(v *epochState) (*epoch, error) {
	if v.cipher == 0 {
		return nil, nil
	}
	seal, err1 := v.cipher.New(v.sendKey)
	open, err2 := v.cipher.New(v.recvKey)
	if err := errors.Join(err1, err2); err != nil {
		return nil, errStateCipher
	}
	if !s.cfg.Indexes.Retake(s.conn, uint32(v.local)) {
		return nil, errStateIndex
	}
	return &epoch{
		keys:    &SendKeys{aead: seal, key: v.sendKey, iv: v.sendIV, remote: uint32(v.remote)},
		recv:    &RecvKeys{Conn: s.conn, aead: open, key: v.recvKey, iv: v.recvIV, local: uint32(v.local)},
		created: v.created, called: v.called, dies: v.dies,
		initiator: v.flags&flagInitiator != 0, heard: v.flags&flagHeard != 0,
		proven: v.flags&flagProven != 0, crossed: v.flags&flagCrossed != 0,
		sent: v.sent, cipher: v.cipher, peer: v.peer, features: v.features,
	}, nil
}

// resumePaths takes the paths over as they were. Those that were silent, or not proven yet,
// are challenged at once.
func (c *Conn) resumePaths(now mono.Time, st *State) {
	ps := &c.paths
	ps.strayed = st.strayed
	for i := range st.paths {
		ps.table = append(ps.table, c.resumePath(now, uint16(i), &st.paths[i], len(st.paths)))
		ps.opened++
	}
	ps.mourn()
	ps.resize()
	if st.lastPath > 0 && ps.table[st.lastPath-1].state != PathFree {
		c.receiver.lastPath = ps.table[st.lastPath-1]
	}
	if d := time.Duration(st.smoothed); d > 0 && d <= sampleMost {
		c.rtt.Add(now, d)
	}
}

func (c *Conn) resumePath(now mono.Time, slot uint16, v *pathState, of int) *path {
	p := &path{slot: slot, state: v.state, largest: v.largest, peerCE: uint32(v.peerCE), reorder: reorderFirst}
	p.sent.Resume(v.next)
	if v.trap > 0 {
		// Of the packets around it nothing is known any more but that they were sent.
		p.sent.Resume(v.trap - 1)
		p.skipped = p.sent.Push(ledger.Packet{State: ledger.Skipped}) + 1
		for p.sent.Next() < v.next {
			p.sent.Push(ledger.Packet{State: ledger.Acked})
		}
	}
	if v.state == PathFree {
		return p
	}
	p.tuple = v.tuple
	p.ours, p.validated, p.unsized = v.flags&flagOurs != 0, v.flags&flagValidated != 0, v.flags&flagUnsized != 0
	p.heard, p.seen, p.fell = min(now, v.heard), min(now, v.seen), min(now, v.fell)
	if most := c.cfg.MTU(p.tuple); v.mtu > 0 {
		p.mtu = max(BasePacket, min(int(v.mtu), most))
	}
	// Both, since the base is the least of all samples.
	for _, n := range []uint64{v.smoothed, v.base} {
		if d := time.Duration(n); d > 0 && d <= sampleMost {
			p.rtt.Add(now, d)
		}
	}
	c.choice.place(p)
	p.probe = probe{next: mono.Never}
	switch every := c.cfg.Keepalive; {
	case p.state != PathActive:
		p.probe.next = now.Add(time.Duration(slot) * c.paths.openGap())
	case p.unsized || v.want > 0:
		p.probe.next, p.probe.want = now, uint16(min(int(v.want), c.cfg.MTU(p.tuple)))
	case every > 0 && p.ours: // not of all paths at once
		p.probe.next = now.Add(every * time.Duration(slot+1) / time.Duration(of))
	}
	if p.probe.next != mono.Never {
		c.paths.probing.Add(int(slot))
	}
	if p.state == PathActive {
		c.paths.usable.Add(int(slot))
		if p.rtt.Known() {
			c.cfg.Control.Base(p.rtt.Base())
		}
	}
	return p
}

// resumeArrivals takes over what has come, so that it is taken no second time, and owes
// acknowledgements of what came lately.
func (c *Conn) resumeArrivals(now mono.Time, st *State) {
	rv := &c.receiver
	for i := range st.in {
		v := &st.in[i]
		in := &inPath{slot: uint16(v.slot), told: [2]uint64{v.told, v.told}, at: min(now, v.at), ce: uint32(v.ce)}
		in.seen.Resume(v.next, v.latest)
		rv.in[v.slot] = in
		if v.owed && v.slot != candidateSlot {
			in.queued = true
			rv.dirty = append(rv.dirty, in)
			rv.ack.arrived(now, now, 0, true, c.rtt.Smoothed(), &c.slack)
		}
	}
	rv.inbox = seq.Window{}
	rv.inbox.Resume(st.missing, st.above)
}

// resumeOutbox has the numbers of messages go on. What was not acknowledged is void.
func (c *Conn) resumeOutbox(now mono.Time, st *State) {
	o := &c.recovery.out
	*o = outbox{first: st.outFirst, next: st.outFirst}
	// They are sent here, and were given up with the process that had their payloads.
	c.stats.Sent, c.stats.GivenUp = uint64(len(st.open)), uint64(len(st.open))
	open := st.open
	for n := st.outFirst; n < st.outNext; n++ {
		if len(open) > 0 && open[0].number == n {
			o.push(Message{Imm: open[0].imm, Flow: uint32(open[0].flow)}, now)
			o.at(n).void = true
			c.recovery.queueRetransmit(n)
			open = open[1:]
			continue
		}
		o.push(Message{}, now)
		o.ack(n)
	}
}
