package srd

import (
	"testing"

	"github.com/srdtun/srdtun/srd/internal/wire"
)

// A received packet with a changed ECN field is counted on the path with the packet's
// addresses and ports.
func TestMarksAreCountedForEachPath(t *testing.T) {
	s := newScript(t, 2)
	before := [2]PathStats{s.c.paths.table[0].stats, s.c.paths.table[1].stats}
	for slot, marks := range [][]ECN{{ECT, CE, CE, ECT}, {NotECT, ECT, NotECT, NotECT, CE}} {
		on := uint16(slot)
		for _, e := range marks {
			p := Packet{Tuple: s.tuple(on), Slot: on, PN: s.peerPN[on], ECN: e, Size: 100, Plain: wire.AppendPing(nil), Keys: s.keys}
			s.peerPN[on]++
			s.c.Handle(s.now, &p)
		}
	}
	for i, want := range []PathStats{{Received: 4, Marked: 2}, {Received: 5, Marked: 1, Unmarked: 3}} {
		got := s.c.paths.table[i].stats
		if got.Received -= before[i].Received; got.Received != want.Received || got.Marked != want.Marked || got.Unmarked != want.Unmarked {
			t.Errorf("path %d: %d received, %d marked, %d without a mark; want %+v", i, got.Received, got.Marked, got.Unmarked, want)
		}
	}
}
