package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// Keys are used up by packets, and not by calls of Next that find nothing to send.
func TestScriptKeysCountPackets(t *testing.T) {
	s := newScript(t, 2)
	e := s.c.session.send
	before := e.sent
	for range 1000 {
		s.pump()
	}
	if e.sent != before {
		t.Errorf("%d packets counted in idle calls", e.sent-before)
	}
	from := len(s.sent)
	s.send(40, 0)
	s.wait(10 * time.Millisecond)
	s.arrive(0, 100, wire.AppendPing(nil))
	s.pump()
	if n := int(e.sent - before); n != len(s.sent)-from {
		t.Errorf("%d packets counted, %d sent", n, len(s.sent)-from)
	}
}
