package net

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// arrivals is a node that stores received packets and their times.
type arrivals struct {
	e       *Engine
	packets []*Packet
	at      []mono.Time
}

func (a *arrivals) Receive(p *Packet) {
	a.packets = append(a.packets, p)
	a.at = append(a.at, a.e.Now())
}

// onLink sends n packets of 1000 bytes over a link of quality q, at intervals of `gap`.
func onLink(q Quality, n int, gap time.Duration) (*Link, *arrivals) {
	e := NewEngine(9, nil)
	a := &arrivals{e: e}
	l := e.NewLink("link", q, a)
	for i := range n {
		e.After(time.Duration(i)*gap, func() { l.Receive(numbered(i)) })
	}
	e.Run(time.Minute, nil)
	return l, a
}

// numbered returns a packet of 1000 bytes whose payload begins with its number.
func numbered(i int) *Packet {
	data := make([]byte, 1000-HeaderIPv4-HeaderUDP)
	data[0], data[1] = byte(i), byte(i>>8)
	src := netip.AddrPortFrom(hostAt(0), uint16(i))
	return UDP(src, netip.AddrPortFrom(hostAt(1), 7), data)
}

// hostAt returns the address of a host.
func hostAt(n int) netip.Addr   { return netip.AddrFrom4([4]byte{10, byte(n), 0, 1}) }
func publicAt(n int) netip.Addr { return netip.AddrFrom4([4]byte{100, 64, 0, byte(n)}) }

func TestPerfectLink(t *testing.T) {
	_, a := onLink(Quality{Delay: time.Millisecond}, 100, 0)
	for i, at := range a.at {
		if at != Start.Add(time.Millisecond) || a.packets[i].Data[0] != byte(i) {
			t.Fatalf("packet %d at %v", i, at)
		}
	}
	if len(a.at) != 100 {
		t.Errorf("%d packets", len(a.at))
	}
}

// A link of one megabyte a second sends a packet of 1000 bytes every 1.038 ms, because of
// the framing.
func TestLinkRate(t *testing.T) {
	_, a := onLink(Quality{Rate: 1e6, Delay: time.Millisecond, Queue: 1 << 20}, 50, 0)
	for i, at := range a.at {
		want := Start.Add(time.Duration(i+1)*1038*time.Microsecond + time.Millisecond)
		if d := at.Sub(want); d < -time.Microsecond || d > time.Microsecond {
			t.Fatalf("packet %d at %v, want %v", i, at, want)
		}
	}
}

// A policer passes the bytes of its credit at once, and then packets at its rate. It queues
// no packets.
func TestLinkPolicer(t *testing.T) {
	l, a := onLink(Quality{Policer: Policer{Police: 1e6, Credit: 5000}}, 40, 500*time.Microsecond) // twice the rate
	if n, drops := len(a.packets), l.Drops[LinkPolicer]; n < 23 || n > 25 || drops != uint64(40-n) {
		t.Errorf("%d packets of 40 pass, %d are dropped; want 5 of credit and half of the time's", n, drops)
	}
	for i, at := range a.at {
		if sent := Start.Add(time.Duration(a.packets[i].Data[0]) * 500 * time.Microsecond); at != sent {
			t.Errorf("packet %d waited %v", i, at.Sub(sent))
		}
	}
}

// One packet is being sent and ten are queued. Further packets are dropped at the tail.
func TestLinkQueue(t *testing.T) {
	l, a := onLink(Quality{Rate: 1e6, Queue: 10 * 1038}, 50, 0)
	if n := len(a.packets); n != 10 || l.Drops[LinkQueue] != 40 {
		t.Errorf("%d packets, drops %v", n, l.Drops)
	}
	for i, p := range a.packets {
		if p.Data[0] != byte(i) {
			t.Errorf("packet %d in place %d", p.Data[0], i)
		}
	}
	if l, a := onLink(Quality{Rate: 1e6, Queue: 1}, 50, 1038*time.Microsecond); len(a.packets) != 50 {
		t.Errorf("spaced by their own length %d packets pass: %v", len(a.packets), l.Drops)
	}
}

func TestLinkMark(t *testing.T) {
	_, a := onLink(Quality{Rate: 1e6, Queue: 1 << 20, Mark: 5 * 1038}, 20, 0)
	for i, p := range a.packets {
		if p.CE != (i > 5) {
			t.Errorf("packet %d marked: %v", i, p.CE)
		}
	}
}

func TestLinkMTU(t *testing.T) {
	for _, mtu := range []int{999, 1000} {
		l, a := onLink(Quality{MTU: mtu}, 5, 0)
		if want := mtu / 1000 * 5; len(a.packets) != want || int(l.Drops[LinkMTU]) != 5-want {
			t.Errorf("MTU %d: %d packets, drops %v", mtu, len(a.packets), l.Drops)
		}
	}
}

// Each random fault occurs with its probability, and no other fault occurs.
func TestLinkChances(t *testing.T) {
	const n = 20000
	within := func(what string, got int, want float64) {
		t.Helper()
		if d := float64(got) - want*n; d < -0.02*n || d > 0.02*n {
			t.Errorf("%s: %d of %d, want %.0f", what, got, n, want*n)
		}
	}
	l, a := onLink(Quality{Loss: 0.3}, n, 1)
	within("loss", int(l.Drops[LinkLoss]), 0.3)
	within("passed", len(a.packets), 0.7)
	_, a = onLink(Quality{Duplicate: 0.2}, n, 1)
	within("duplicates", len(a.packets)-n, 0.2)
	// On average the link is bad for 10 of 60 packets, and half of these are lost.
	l, _ = onLink(Quality{Burst: Burst{Begin: 0.02, End: 0.1, Loss: 0.5}}, n, 1)
	within("bursts", int(l.Drops[LinkBurst]), 0.5/6)
	_, a = onLink(Quality{Corrupt: 0.1}, n, 1)
	wrong := 0
	for i, p := range a.packets {
		if p.digestAll() != numbered(i).digestAll() {
			wrong++
		}
	}
	within("corrupted", wrong, 0.1)
}

// digestAll returns a hash of the whole payload.
func (p *Packet) digestAll() uint64 { return hashString(string(p.Data)) }

// Reorder delays single packets. Without it the order does not change.
func TestLinkReorder(t *testing.T) {
	late := func(q Quality) (n int) {
		_, a := onLink(q, 1000, 100*time.Microsecond)
		highest := -1
		for _, p := range a.packets {
			i := int(p.Data[0]) | int(p.Data[1])<<8
			if i < highest {
				n++
			}
			highest = max(highest, i)
		}
		return n
	}
	if n := late(Quality{Rate: 2e6, Queue: 1 << 20, Delay: time.Millisecond}); n != 0 {
		t.Errorf("%d packets late on a plain link", n)
	}
	if n := late(Quality{Reorder: 0.1, HoldMost: 5 * time.Millisecond}); n < 50 || n > 150 {
		t.Errorf("%d packets late of about 100", n)
	}
}

// A link is down as long as one of several faults lasts.
func TestLinkDown(t *testing.T) {
	e := NewEngine(1, nil)
	a := &arrivals{e: e}
	l := e.NewLink("link", Quality{}, a)
	for i, step := range []func(){func() {}, l.Fail, l.Fail, l.Restore, l.Restore} {
		step()
		l.Receive(numbered(i))
	}
	e.Run(time.Second, nil)
	if len(a.packets) != 2 || l.Drops[LinkDown] != 3 {
		t.Errorf("%d packets, drops %v", len(a.packets), l.Drops)
	}
}
