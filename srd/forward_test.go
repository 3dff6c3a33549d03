package srd_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
)

// forwarder is an observer who forwards the packets of side 0 with other source addresses.
// The copies arrive before the originals. The forwarder answers no packet.
type forwarder struct {
	p     *pair
	from  func(n int) netip.AddrPort // source of the copy of packet n; invalid: no copy
	n     int
	bytes int
}

func (f *forwarder) tap(side, i int, b []byte) {
	if side != 0 {
		return
	}
	f.n++
	from := f.from(f.n)
	if !from.IsValid() {
		return
	}
	f.bytes += len(b)
	t := f.p.tuple(1, i)
	t.Remote = from
	f.p.host[1].receiveOn(t, b)
}

// Copies of an initiation and of all later packets arrive first, with a victim's source
// address. The victim gets at most three times the bytes that were sent with its address,
// and both ends exchange messages all the time.
func TestForwardedHandshake(t *testing.T) {
	for name, which := range map[string]func(kind int, n int) bool{
		"all":               func(int, int) bool { return true },
		"one copy and data": func(kind int, n int) bool { return kind == 0 || n == 1 },
		"data":              func(kind int, n int) bool { return kind == 0 },
		"handshakes":        func(kind int, n int) bool { return kind != 0 },
		"half":              func(kind int, n int) bool { return n%2 == 0 },
	} {
		p := newPair(t, 31, links(8)...)
		f := &forwarder{p: p}
		var kind int
		f.from = func(n int) netip.AddrPort {
			if which(kind, n) {
				return elsewhere.Remote
			}
			return netip.AddrPort{}
		}
		p.tap = func(side, i int, b []byte) {
			kind = handshake.Kind(b)
			f.tap(side, i, b)
		}
		p.connect()
		for range 10 {
			for _, h := range p.host {
				h.src.left, h.src.size = 100, 1300
				h.service()
			}
			p.run(time.Second, never)
		}
		if f.bytes == 0 || p.astray > 3*f.bytes {
			t.Errorf("%s: %d bytes to an address for %d", name, p.astray, f.bytes)
		}
		p.wantAll(0, 1000)
		p.wantAll(1, 1000)
		for _, i := range p.host[1].conn.Paths() {
			if i.Tuple.Remote == elsewhere.Remote {
				t.Errorf("%s: a path to it is %v", name, i.State)
			}
		}
	}
}

// An observer forwards packets from 300 ports for four seconds. The tunnel works during
// this time and afterwards.
func TestForwardedFromManyPorts(t *testing.T) {
	p := newPair(t, 32, links(8)...)
	p.connect()
	p.run(time.Second, never)
	f := &forwarder{p: p, from: func(n int) netip.AddrPort {
		return netip.AddrPortFrom(elsewhere.Remote.Addr(), uint16(1+n%300))
	}}
	p.tap = f.tap
	for range 50 {
		p.host[0].src.left, p.host[0].src.size = 14, 1300
		p.host[0].service()
		p.run(80*time.Millisecond, never)
	}
	p.tap = nil
	if f.n < 300 {
		t.Fatalf("%d packets forwarded", f.n)
	}
	p.wantAll(1, 50*14)
	h := p.host[1]
	h.src.left, h.src.size = 1, 100
	h.conn.Connect(p.now)
	h.service()
	p.run(100*time.Millisecond, func() bool { return len(p.host[0].got) == 1 })
	if len(p.host[0].got) != 1 {
		t.Error("no answer within 100 ms")
	}
	if p.astray > 3*f.bytes {
		t.Errorf("%d bytes astray for %d", p.astray, f.bytes)
	}
	for _, i := range h.conn.Paths() {
		if i.State != srd.PathActive {
			t.Errorf("path %v is %v", i.Tuple, i.State)
		}
	}
}

// The same holds on the initiator. The response proves the address to which the initiation
// was sent, if the initiation was sent to a single address.
func TestForwardedResponse(t *testing.T) {
	p := newPair(t, 33, links(4)...)
	came := 0
	p.tap = func(side, i int, b []byte) {
		if side != 1 {
			return
		}
		came += len(b)
		u := p.tuple(0, i)
		u.Remote = elsewhere.Remote
		p.host[0].receiveOn(u, b)
	}
	p.connect()
	for range 5 {
		for _, h := range p.host {
			h.src.left, h.src.size = 100, 1300
			h.service()
		}
		p.run(time.Second, never)
	}
	if p.astray > 3*came {
		t.Errorf("%d bytes to an address for %d", p.astray, came)
	}
	p.wantAll(0, 500)
	p.wantAll(1, 500)
}
