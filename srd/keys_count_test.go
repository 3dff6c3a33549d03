package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
)

// The packet limit of keys counts packets, not calls of Next that find nothing to send.
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

// The packet limit of keys is for packets of 2,048 bytes: a larger packet counts as
// several.
func TestScriptKeysCountLargePackets(t *testing.T) {
	s := newScript(t, 1)
	e, p := s.c.session.send, s.c.paths.table[0]
	for _, c := range []struct {
		size uint16
		want uint64
	}{{41, 1}, {2048, 1}, {2049, 2}, {MaxPacket, 5}} {
		before := e.sent
		s.c.recovery.record(p, ledger.Packet{At: s.now, State: ledger.Silent, Size: c.size})
		if got := e.sent - before; got != c.want {
			t.Errorf("a packet of %d bytes counts as %d, want %d", c.size, got, c.want)
		}
	}
}
