package srd_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// live returns the number of reachable bytes on the heap.
func live() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // frees objects that the finalizers of the first run released
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Bounds on the memory of a connection, in bytes: a hub may have a thousand.
const (
	mostUnconnected = 8 << 10
	mostIdle        = 56 << 10 // a connection with a session and 32 validated paths
	mostRested      = 36 << 10 // the same, after minutes without traffic
)

func TestUnconnectedIsSmall(t *testing.T) {
	p := newPair(t, 1, &link{})
	const n = 200
	before := live()
	var all []*srd.Conn
	for range n {
		p.host[0].start()
		all = append(all, p.host[0].conn)
	}
	each := (live() - before) / n
	t.Logf("%d bytes each", each)
	if each > mostUnconnected {
		t.Errorf("%d bytes, want %d at most", each, mostUnconnected)
	}
	runtime.KeepAlive(all)
}

func TestConnectedAndIdleIsSmall(t *testing.T) { connected(t, 20*time.Second, true, mostIdle) }
func TestConnectedLongAgoIsSmall(t *testing.T) { connected(t, 4*time.Minute, false, mostRested) }

// connected makes pairs that exchange a few messages and are then idle for d. It fails if a
// connection takes more than `most` bytes.
func connected(t *testing.T, d time.Duration, ready bool, most int) {
	t.Helper()
	const n = 20
	var all []*pair
	before := live()
	for seed := range uint64(n) {
		var links []*link
		for range 32 {
			links = append(links, &link{delay: time.Millisecond})
		}
		p := newPair(t, seed, links...)
		p.connect()
		p.host[0].src.left, p.host[0].src.size = 10, 100
		p.host[0].service()
		p.run(d, never)
		p.wantAll(1, 10)
		if v := p.host[0].conn.Paths(); len(v) != 32 || v[31].State != srd.PathActive {
			t.Fatalf("%d paths", len(v))
		}
		if p.host[0].conn.Session(p.now).Ready != ready {
			t.Fatalf("session after %v: %v", d, !ready)
		}
		for _, h := range p.host {
			h.train, h.end, h.got, h.where = nil, nil, nil, srd.AddressSet{} // each process has only one of these
		}
		p.events, p.sealed = nil, nonces{}
		all = append(all, p)
	}
	each := (live() - before) / (2 * n)
	t.Logf("%d bytes each", each)
	if each > most {
		t.Errorf("%d bytes, want %d at most", each, most)
	}
	runtime.KeepAlive(all)
}

// Both sides free their memory while they are idle. Afterwards they continue with the same
// state, whichever side sends first.
func TestGoesOnAfterRest(t *testing.T) {
	for first := range 2 {
		p := newPair(t, 5, &link{delay: time.Millisecond}, &link{delay: time.Millisecond, loss: 0.05})
		p.connect()
		for round := 1; round <= 3; round++ {
			for i := range 2 {
				h := p.host[(first+i)%2]
				h.src.left, h.src.size = 3000, 1400
				h.service()
				p.run(5*time.Second, never)
			}
			for side := range 2 {
				p.wantAll(side, 3000*round)
				if n := p.host[side].src.open; n != 0 {
					t.Errorf("side %d holds %d payloads", side, n)
				}
			}
			p.run(4*time.Minute, never)
			if p.host[first].conn.Session(p.now).Ready {
				t.Fatal("the keys of an idle connection live on")
			}
		}
	}
}
