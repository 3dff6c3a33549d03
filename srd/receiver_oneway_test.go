package srd

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// The queueing delay of acknowledgements is measured on each path, relative to the least
// one-way delay of that path. A path without a recent acknowledgement begins with the least
// delay of the path of the last acknowledgement, if the addresses are the same, because
// there may already be a queue. The queueing delay counts as zero for new addresses, for
// candidates, and for peers that do not send their clock.
func TestWaitOnTheWayBack(t *testing.T) {
	const trip, wait = 10 * time.Millisecond, 30 * time.Millisecond
	rv := receiver{env: &env{}, in: make([]*inPath, candidateSlot+1)}
	here := Tuple{Local: UplinkOf(netip.MustParseAddr("192.0.2.1"), 0), Remote: netip.MustParseAddrPort("198.51.100.1:1")}
	there := here
	there.Remote = netip.MustParseAddrPort("198.51.100.2:1")
	now := mono.Time(time.Hour)
	waited := func(slot uint16, at Tuple, waits time.Duration, told bool) time.Duration {
		if rv.in[slot] == nil {
			rv.in[slot] = &inPath{slot: slot}
		}
		clock := now.Stamp()
		if !told {
			clock = 0
		}
		now = now.Add(time.Second)
		return rv.waited(now, &Packet{Slot: slot, Tuple: at, At: now.Add(trip + waits - time.Second)}, clock)
	}
	for i, x := range []struct {
		slot  uint16
		at    Tuple
		waits time.Duration
		told  bool
		want  time.Duration
	}{
		{0, here, 0, true, 0},
		{0, here, wait, true, wait - clocksApart},
		{0, here, wait, false, 0},
		{1, here, wait, true, wait - clocksApart},
		{2, there, wait, true, 0},
		{2, there, 2 * wait, true, wait - clocksApart},
		{candidateSlot, here, wait, true, 0},
		{0, here, clocksApart / 2, true, 0},
	} {
		if got := waited(x.slot, x.at, x.waits, x.told); got != x.want {
			t.Errorf("%d: waited %v, want %v", i, got, x.want)
		}
	}
}
