package srd_test

import (
	"encoding/binary"
	"net/netip"
	"runtime"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/liar"
)

const (
	// failedHandshakes is the number of packets that a stranger sends, each from another
	// address.
	failedHandshakes = 100_000
	// failedMost is the largest number of bytes that a process may keep after them: its tables
	// have fixed sizes.
	failedMost = 1 << 20
)

// Failed handshakes of every kind, each from a new address, leak no memory (CVE-2025-54939
// of LSQUIC, and wireguard-go in June 2026).
func TestFailedHandshakesLeaveNoMemory(t *testing.T) {
	p := newPair(t, 54939, four(0, 0)...)
	p.connect()
	h := p.host[1]
	key := h.id.Public()
	rng := reader{p.rng}
	s := newStranger(p, key)
	var real, noise, responses, cookies [][]byte
	for i := range 64 {
		real = append(real, s.initiation())
		noise = append(noise, liar.NoiseInitiation(rng, key, uint32(i), nil))
		responses = append(responses, liar.NoiseResponse(rng, key, uint32(i)))
		cookies = append(cookies, liar.FalseCookie(rng, real[i], p.host[0].id.Public()))
	}
	kinds := [][][]byte{real, noise, responses, cookies}
	attack := func(n int) {
		for i := range n {
			var from [4]byte
			binary.BigEndian.PutUint32(from[:], 0x64000000+p.rng.Uint32()>>8)
			at := srd.Tuple{Local: elsewhere.Local, Remote: netip.AddrPortFrom(netip.AddrFrom4(from), uint16(1+p.rng.Uint32()>>17))}
			b := append([]byte(nil), kinds[i%len(kinds)][p.rng.Uint32()>>26]...)
			p.now = p.now.Add(100 * time.Microsecond)
			h.end.Receive(p.now, at, b, h.lookup)
		}
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	attack(failedHandshakes / 10) // allocates the tables that are made when first needed
	before := heap()
	attack(failedHandshakes)
	if grown := heap() - before; grown > failedMost {
		t.Errorf("%d failed handshakes took %d bytes", failedHandshakes, grown)
	}
	if n := len(h.index); n > 4 {
		t.Errorf("%d receiver indices are in use", n)
	}
}
