package srd_test

import (
	"testing"
	"time"
)

// Within lostMemory a fast path carries more packets than its ledger has entries. A single
// lost packet must not stop such a path.
func TestOneLossAtHighRateDoesNotFillTheLedger(t *testing.T) {
	p := newPair(t, 3, &link{rate: 1e10 / 8, delay: 20 * time.Microsecond, limit: 20 * time.Millisecond})
	p.connect()
	h := p.host[0]
	const n = 150_000
	h.src = source{left: n, size: 1300}
	h.service()
	p.run(20*time.Millisecond, never)
	p.links[0].loss = 1
	p.run(time.Second, func() bool { return p.links[0].drops[0] > 0 })
	p.links[0].loss = 0
	p.run(2*time.Second, func() bool { return len(p.host[1].got) == n })
	p.wantAll(1, n)
}
