package srd

import (
	"errors"

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
		own: c.env.cfg.Incarnation, peer: s.incarnation, newest: s.replay.Newest(), since: s.since,
		heard: c.env.lastHeard, active: c.env.active, smoothed: uint64(c.env.rtt.Smoothed()), strayed: c.paths.strayed,
		missing: c.receiver.inbox.FirstMissing(),
	}
	c.paths.suspend(st)
	c.receiver.suspend(now, st)
	c.recovery.out.suspend(st)
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
			s.self.publish(e.recv)
		}
	}
	s.send, s.prev, s.next, s.other = epochs[epochSend], epochs[epochPrev], epochs[epochNext], epochs[epochOther]
	c.env.clock, c.env.cfg.Incarnation = now, st.own
	s.incarnation, s.met, s.since = st.peer, true, st.since
	s.replay.Resume(st.newest)
	c.env.lastHeard, c.env.active = min(now, st.heard), min(now, st.active)
	c.recovery.timer = lossTimer{progress: now, lastSent: now}
	c.paths.resume(now, st)
	c.receiver.resume(now, st)
	for _, n := range c.recovery.out.resume(now, st) {
		c.recovery.queueRetransmit(n)
	}
	// They are sent here, and were given up with the process that had their payloads.
	c.env.stats.Sent, c.env.stats.GivenUp = uint64(len(st.open)), uint64(len(st.open))
	s.holdAddresses()
	return nil
}

// resumable reports why the keys of a state are not to be used, nil if they are.
func (c *Conn) resumable(now mono.Time, st *State) error {
	e, life := &st.epochs[epochSend], c.session.life()
	switch {
	case e.created > now || st.since > now || st.since == 0:
		return errStateTime
	case now.Sub(e.created) >= life.reject || e.sent >= life.rejectPackets:
		return errStateOld
	case !c.env.cfg.Offers.Has(e.cipher):
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
	if !s.self.retake(uint32(v.local)) {
		return nil, errStateIndex
	}
	return &epoch{
		keys:    &SendKeys{aead: seal, key: v.sendKey, iv: v.sendIV, remote: uint32(v.remote)},
		recv:    &RecvKeys{Conn: s.self.conn, aead: open, key: v.recvKey, iv: v.recvIV, local: uint32(v.local)},
		created: v.created, called: v.called, dies: v.dies,
		initiator: v.flags&flagInitiator != 0, heard: v.flags&flagHeard != 0,
		proven: v.flags&flagProven != 0, crossed: v.flags&flagCrossed != 0,
		sent: v.sent, cipher: v.cipher, peer: v.peer, features: v.features,
	}, nil
}

// suspend notes the numbers so far, and what is open.
func (o *outbox) suspend(st *State) {
	st.outFirst, st.outNext = o.first, o.next
	for n := o.first; n < o.next; n++ {
		if m := o.at(n); !m.acked {
			st.open = append(st.open, openState{n, uint64(m.m.Flow), m.m.Imm})
		}
	}
}

// resume has the numbers go on, and returns those of what was not acknowledged, which is void.
func (o *outbox) resume(now mono.Time, st *State) (again []uint64) {
	*o = outbox{first: st.outFirst, next: st.outFirst}
	open := st.open
	for n := st.outFirst; n < st.outNext; n++ {
		if len(open) > 0 && open[0].number == n {
			o.push(Message{Imm: open[0].imm, Flow: uint32(open[0].flow)}, now)
			o.at(n).void = true
			again = append(again, n)
			open = open[1:]
			continue
		}
		o.push(Message{}, now)
		o.ack(n)
	}
	return again
}
