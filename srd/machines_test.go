package srd

import (
	"testing"

	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/steer"
)

// A receiver detects duplicate messages without the other parts of a Conn.
func TestReceiverAlone(t *testing.T) {
	rv := receiver{env: &env{}}
	news := rv.message(&wire.Frame{Kind: wire.KindMessage, Number: 0, Payload: []byte("x")})
	again := rv.message(&wire.Frame{Kind: wire.KindMessage, Number: 0, Payload: []byte("x")})
	rv.message(&wire.Frame{Kind: wire.KindTombstone, Number: 1})
	if news == seq.Duplicate || again != seq.Duplicate || rv.stats.Drops[DropDuplicate] != 1 {
		t.Errorf("verdicts %v, %v, %d duplicates", news, again, rv.stats.Drops[DropDuplicate])
	}
	if len(rv.received) != 2 || string(rv.received[0].Data) != "x" || !rv.received[1].Expired {
		t.Errorf("received %+v", rv.received)
	}
}

// A planned handshake is due once.
func TestSessionCallsOnce(t *testing.T) {
	s := session{keyring: keyring{env: &env{}}, callAt: 5}
	if s.calling(4) || !s.calling(5) || s.calling(6) {
		t.Errorf("due before its time, never, or twice: %d", s.callAt)
	}
}

// A message is in the retransmission queue at most once. A message that was given up keeps
// only its number.
func TestRecoveryAlone(t *testing.T) {
	rc := recovery{flight: flight{env: &env{}}}
	n := rc.out.push(Message{Data: []byte("x")}, 1)
	rc.queueRetransmit(n)
	rc.queueRetransmit(n)
	if rc.out.retx.len() != 1 {
		t.Errorf("%d entries of one message", rc.out.retx.len())
	}
	rc.giveUp(rc.out.at(n), GivenUp)
	if m := rc.out.at(n); !m.void || m.m.Data != nil || rc.stats.NeverRepaired != 1 {
		t.Errorf("%+v, %d given up unrepaired", m, rc.stats.NeverRepaired)
	}
}

// The parts of a connection refer to the parts of the same connection, even after
// Reincarnate.
func TestMachinesKnowEachOther(t *testing.T) {
	c := newScript(t, 1).c
	check := func(when string) {
		t.Helper()
		if c.session.self.conn != c || c.session.paths != &c.paths || c.paths.keys != &c.session.keyring || c.recovery.paths != &c.paths ||
			c.choice.paths != &c.paths.slots || c.sender.recovery != &c.recovery || c.receiver.env != c.env || c.sender.env != c.env {
			t.Errorf("%s: a machine has others than those of its connection", when)
		}
	}
	check("new")
	c.Reincarnate(c.env.clock, 99, steer.NewSpray(1), c.env.cfg.Control)
	check("another process")
}
