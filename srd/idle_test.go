package srd_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// live returns the bytes of all that is reachable.
func live() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what the first one's finalizers held
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// Bounds on the memory of a connection, in bytes: a hub may have a thousand.
const (
	mostUnconnected = 8 << 10
	mostIdle        = 56 << 10 // with a session and 32 validated paths
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

func TestConnectedAndIdleIsSmall(t *testing.T) {
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
		p.run(20*time.Second, never)
		p.wantAll(1, 10)
		if v := p.host[0].conn.Paths(); len(v) != 32 || v[31].State != srd.PathActive {
			t.Fatalf("%d paths", len(v))
		}
		for _, h := range p.host {
			h.train, h.end, h.got = nil, nil, nil
		}
		p.events, p.sealed = nil, nonces{}
		all = append(all, p)
	}
	each := (live() - before) / (2 * n)
	t.Logf("%d bytes each", each)
	if each > mostIdle {
		t.Errorf("%d bytes, want %d at most", each, mostIdle)
	}
	runtime.KeepAlive(all)
}
