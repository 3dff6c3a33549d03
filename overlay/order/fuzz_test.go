package order

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// FuzzGatherer adds messages with arbitrary immediates and payloads, as a malicious peer may send
// them. Each message of the input is an immediate and two bytes. The first byte is the length of
// the payload. Bit 7 of the second byte makes the message a tombstone, and its other bits advance
// the clock.
func FuzzGatherer(f *testing.F) {
	seed := func(parts ...*srd.Message) {
		var b []byte
		for _, m := range parts {
			b = append(append(b, m.Imm[:]...), byte(len(m.Data)), 3)
		}
		f.Add(b)
	}
	seed(piece(0, 0, 0, 9, 9))
	seed(piece(0, 1, 0, 9, 9), piece(0, 0, 4, 5, 9), piece(0, 0, 0, 4, 9))
	seed(piece(5, 1<<31-1, 0, 9, 9), piece(5, 1<<31, 0, 9, 9), piece(5, 1<<32-1, 0, 9, 90))
	f.Fuzz(func(t *testing.T, in []byte) {
		const limit = 100_000
		pool := newPool()
		g := NewReassembler(Config{HeldBytes: limit, Alloc: pool.get})
		now := mono.Time(1)
		for len(in) >= srd.ImmLen+2 {
			m := srd.Message{Imm: srd.Imm(in[:srd.ImmLen])}
			n, how := in[srd.ImmLen], in[srd.ImmLen+1]
			in = in[srd.ImmLen+2:]
			m.Expired = how&128 != 0
			if !m.Expired {
				m.Data = bytes.Repeat([]byte{dirt + 1}, int(n))
			}
			now = now.Add(1 << (how & 31))
			if how&64 != 0 {
				g.Advance(now)
			}
			g.Add(now, &m)
			take(t, g)
			if pool.bytes > limit || g.Stats().HeldBytes != pool.bytes {
				t.Fatalf("%d bytes in use, %d counted, %d allowed", pool.bytes, g.Stats().HeldBytes, limit)
			}
			if n := g.Stats().Memory; n > limit || n < pool.bytes {
				t.Fatalf("%d bytes of memory for %d, %d allowed", n, pool.bytes, limit)
			}
			if at := g.Deadline(); at != mono.Never && at < 1 {
				t.Fatalf("deadline %v", at)
			}
		}
		g.Reset(now)
		take(t, g)
		pool.wantAllBack(t)
	})
}

func take(t *testing.T, g *Reassembler) {
	for _, f := range g.TakeReady(nil) {
		if !clean(f) {
			t.Fatal("a byte that nobody sent was delivered")
		}
		f.Release()
	}
}
