package cc

import (
	"testing"
	"time"
)

// way simulates one round trip on a long path with a narrow uplink: the given number of
// packets is acknowledged.
func (n *network) way(packets int, limited bool, queue, back time.Duration) {
	const far = 20 * time.Millisecond
	trip := far + queue + back
	for range packets {
		n.now = n.now.Add(trip / time.Duration(packets))
		n.path.Add(n.now, trip, 0)
		n.Ack(n.now, Ack{Bytes: MSS, RTT: trip, Base: far, Empty: far, Reverse: back}, limited)
	}
}

// A narrow uplink carries only the acknowledgements of a download. They fill the modem's
// buffer, although they do not fill the window. So the window falls to the part in use.
// Further messages wait in front of the window, and are then packed into full packets. When
// the queue has drained, the window grows.
func TestALittleTrafficFillsNoModem(t *testing.T) {
	n := newNetwork()
	n.way(InitialWindow/MSS, true, 0, 0)
	const used = 8
	for range 50 {
		n.way(used, false, 200*time.Millisecond, 0)
	}
	if w := n.Window(); w > 2*used*MSS {
		t.Fatalf("window %d, and %d bytes in a round trip make a queue of 200 ms", w, used*MSS)
	}
	for range 10 {
		n.way(n.Window()/MSS, true, 0, 0)
	}
	if w := n.Window(); w < InitialWindow {
		t.Fatalf("window %d ten round trips after the queue has gone", w)
	}
}

// A window that is not used up does not shrink because of a queue below the target.
func TestAnIdleWindowStays(t *testing.T) {
	n := newNetwork()
	n.way(InitialWindow/MSS, true, 0, 0)
	before := n.Window()
	for range 50 {
		n.way(4, false, n.Target()/2, 0)
	}
	if w := n.Window(); w < before {
		t.Fatalf("window went from %d to %d", before, w)
	}
}

// If acknowledgements wait for a second in the uplink of the other side, this does not
// count as a queue of data. The window does not shrink, and the bytes whose
// acknowledgements are in that queue are added to it, up to twice the window.
func TestALongWayBackIsNoQueue(t *testing.T) {
	n := newNetwork()
	for range 5 {
		n.way(n.Window()/MSS, true, 0, 0)
	}
	before := n.window
	for range 50 {
		n.way(n.Window()/MSS, true, 0, time.Second)
	}
	if n.window < before || float64(n.Window()) > 2*n.window+MSS {
		t.Fatalf("window went from %.0f to %.0f, and %d with what waits", before, n.window, n.Window())
	}
}
