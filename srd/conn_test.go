package srd_test

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

const mbit = 125e3 // bytes per second

func four(rate float64, delay time.Duration) []*link {
	var v []*link
	for range 4 {
		v = append(v, &link{rate: rate, delay: delay, limit: 20 * time.Millisecond})
	}
	return v
}

// On a network without faults there is no loss, no retransmission and no drop.
func TestCleanNetwork(t *testing.T) {
	p := newPair(t, 1, four(0, 50*time.Microsecond)...)
	p.connect()
	p.run(200*time.Millisecond, never)
	h := p.host[0]
	const n = 20000
	h.src = source{left: n, size: 1300}
	h.service()
	p.run(10*time.Second, func() bool { return len(p.host[1].got) == n })
	p.wantAll(1, n)
	for _, h := range p.host {
		s := *h.conn.Stats()
		s.Drops[srd.DropHandshakeCopy] = 0 // one initiation went out on several paths
		if s.Retransmitted != 0 || s.GivenUp != 0 || s.Spurious != 0 || s.Drops != [srd.NumReasons]uint64{} {
			t.Errorf("side %d: %+v", h.side, s)
		}
	}
	p.run(time.Second, never)
	if h.src.open != 0 {
		t.Errorf("%d payloads not given back", h.src.open)
	}
}

// Four links of 100 Mbit/s carry nearly four times as much as one link.
func TestFillsAllPaths(t *testing.T) {
	p := newPair(t, 2, four(100*mbit, 50*time.Microsecond)...)
	p.connect()
	h := p.host[0]
	h.src = source{left: 1 << 30, size: 1400}
	h.service()
	p.run(time.Second, never)
	before := p.host[1].bytes
	p.run(2*time.Second, never)
	got := float64(p.host[1].bytes-before) * 8 / 2e6
	w, inflight, rate := h.conn.Window()
	q, tg := h.conn.Queue()
	t.Logf("%.0f Mbit/s of payload; window %d, in flight %d, rate %.0f Mbit/s, rtt %v, queue %v, target %v", got, w, inflight, rate*8/1e6, h.conn.RTT(), q, tg)
	if got < 360 {
		t.Errorf("%.0f Mbit/s of payload over four links of 100", got)
	}
	t.Logf("%+v", *h.conn.Stats())
}

// One of four links fails silently. The other links continue, every message arrives, and
// the dead link carries no data until it works again.
func TestBlackhole(t *testing.T) {
	p := newPair(t, 3, four(100*mbit, 50*time.Microsecond)...)
	p.connect()
	h := p.host[0]
	h.src = source{left: 1 << 30, size: 1400}
	h.service()
	p.run(time.Second, never)
	p.links[1].dead = [2]bool{true, true}
	longest, last := time.Duration(0), len(p.host[1].got)
	start, from := p.host[1].bytes, p.now
	for range 1000 {
		quiet := time.Duration(0)
		for len(p.host[1].got) == last && quiet < time.Second {
			p.run(time.Millisecond, never)
			quiet += time.Millisecond
		}
		last = len(p.host[1].got)
		longest = max(longest, quiet)
		p.run(time.Millisecond, never)
	}
	got := float64(p.host[1].bytes-start) * 8 / 1e6 / p.now.Sub(from).Seconds()
	t.Logf("longest silence %v, %.0f Mbit/s, %+v", longest, got, *h.conn.Stats())
	if longest > 20*time.Millisecond {
		t.Errorf("nothing arrived for %v", longest)
	}
	if got < 0.95*0.75*370 {
		t.Errorf("%.0f Mbit/s over the three links that are left", got)
	}
	p.links[1].dead = [2]bool{}
	p.run(3*time.Second, never)
	before := p.links[1].sent[0]
	p.run(time.Second, never)
	if n := p.links[1].sent[0] - before; n < 2000 {
		t.Errorf("%d packets a second on the path that is back", n)
	}
	h.src.left = 0
	p.run(3*time.Second, func() bool { return h.src.open == 0 })
	p.wantAll(1, int(h.src.next))
}

// One link loses packets, one duplicates, one reorders and one corrupts them. Every message
// arrives exactly once.
func TestHostileLinks(t *testing.T) {
	l := four(100*mbit, 200*time.Microsecond)
	l[0].loss, l[1].dup, l[2].swap, l[3].flip = 0.05, 0.05, 0.05, 0.05
	p := newPair(t, 4, l...)
	p.connect()
	h := p.host[0]
	h.src = source{left: 50000, size: 1400}
	h.service()
	p.run(20*time.Second, func() bool { return len(p.host[1].got) == 50000 })
	p.wantAll(1, 50000)
	t.Logf("%v virtual, %+v", p.now, *h.conn.Stats())
}

// After a process was killed and started again, the other end has a session with it within
// two seconds.
func TestRestart(t *testing.T) {
	for side := range 2 {
		p := newPair(t, 5, four(100*mbit, 50*time.Microsecond)...)
		p.connect()
		h := p.host[0]
		h.src = source{left: 1 << 30, size: 1400}
		h.service()
		p.run(time.Second, never)
		p.host[side].start()
		if side == 0 {
			h.src = source{left: 1 << 30, size: 1400}
			p.host[0].conn.SetTuples(p.now, p.tuples(0))
			p.host[0].conn.Connect(p.now)
			h.service()
		}
		before := p.host[1].bytes
		p.run(2*time.Second, func() bool { return p.host[1].bytes > before+1e6 })
		if p.host[1].bytes <= before+1e6 {
			t.Errorf("side %d restarted: %d bytes in 2 s", side, p.host[1].bytes-before)
		}
	}
}

// Keys are renewed under load, and no message is lost.
func TestRekeyUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds: make test runs it")
	}
	p := newPair(t, 6, four(4*mbit, 50*time.Microsecond)...)
	p.connect()
	h := p.host[0]
	h.src = source{left: 1 << 30, size: 1400}
	h.service()
	p.run(250*time.Second, never)
	h.src.left = 0
	p.run(3*time.Second, func() bool { return h.src.open == 0 })
	p.wantAll(1, int(h.src.next))
	s := h.conn.Stats()
	if s.Handshakes < 3 || s.GivenUp != 0 || s.Retransmitted > s.Sent/100 {
		t.Errorf("%+v", *s)
	}
}
