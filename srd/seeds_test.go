package srd_test

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

var (
	firstSeed = flag.Uint64("seed", 1, "first seed of TestSeeds")
	seeds     = flag.Uint64("seeds", 12, "how many seeds TestSeeds runs")
)

// TestSeeds draws a network and its faults from a seed, and both sides send through this
// network. Then the test repairs the network, and checks the result: each message was
// delivered once or given up, every payload was released, and the paths are in use again.
//
//	go test ./srd -run TestSeeds -seed 7 -seeds 1
func TestSeeds(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		if runSeed(t, seed); t.Failed() {
			t.Fatalf("replay with -run TestSeeds -seed %d -seeds 1", seed)
		}
	}
}

// TestRestartSeeds does the same while the processes of both sides are killed and started
// again. Messages in flight at a restart are lost, so the test checks only for progress.
func TestRestartSeeds(t *testing.T) {
	for seed := *firstSeed; seed < *firstSeed+*seeds; seed++ {
		if runRestarts(t, seed); t.Failed() {
			t.Fatalf("replay with -run TestRestartSeeds -seed %d -seeds 1", seed)
		}
	}
}

func runRestarts(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	p := newPair(t, seed, drawLinks(rng)...)
	p.connect()
	for range 12 {
		if rng.IntN(4) == 0 {
			p.host[rng.IntN(2)].restart()
		}
		disturb(p, rng)
	}
	heal(p)
	p.run(3*time.Second, never) // until both have noticed the last restart
	wantProgress(t, seed, p)
	for side, h := range p.host {
		if len(h.index) > 3 {
			t.Errorf("seed %d: side %d uses %d indices", seed, side, len(h.index))
		}
	}
}

// restart kills h's process and starts another.
func (h *host) restart() {
	h.src = source{}
	h.start()
	if h.side == 0 {
		h.conn.SetTuples(h.p.now, h.p.tuples(0))
		h.conn.Connect(h.p.now)
	}
}

func runSeed(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	p := newPair(t, seed, drawLinks(rng)...)
	p.connect()
	for range 20 {
		disturb(p, rng)
	}
	heal(p)
	settled := func() bool { return p.host[0].src.open == 0 && p.host[1].src.open == 0 }
	if p.run(20*time.Second, settled); !settled() {
		t.Errorf("seed %d: %d and %d payloads open after the network healed", seed, p.host[0].src.open, p.host[1].src.open)
	}
	p.run(time.Second, never)
	for side, h := range p.host {
		wantSettled(t, seed, h, p.host[1-side])
	}
	wantProgress(t, seed, p)
}

// drawLinks draws one to six links, each with some fault.
func drawLinks(rng *rand.Rand) (v []*link) {
	for range 1 + rng.IntN(6) {
		l := &link{delay: time.Duration(rng.Int64N(int64(10 * time.Millisecond))), limit: 20 * time.Millisecond}
		if rng.IntN(3) > 0 {
			// On a slower link the queue would be shorter than the least window.
			l.rate = (5 + 50*rng.Float64()) * mbit
		}
		for _, chance := range []*float64{&l.loss, &l.dup, &l.swap, &l.flip} {
			if rng.IntN(3) == 0 {
				*chance = 0.2 * rng.Float64()
			}
		}
		v = append(v, l)
	}
	return v
}

// disturb makes some links fail, and both sides send for a moment.
func disturb(p *pair, rng *rand.Rand) {
	for _, l := range p.links {
		l.dead[0] = rng.IntN(6) == 0
		l.dead[1] = rng.IntN(6) == 0
	}
	for _, h := range p.host {
		h.src.left, h.src.size = rng.IntN(400), 1+rng.IntN(1400)
		h.service()
	}
	p.run(time.Duration(rng.Int64N(int64(500*time.Millisecond))), never)
}

// heal repairs all links and stops the applications.
func heal(p *pair) {
	for _, l := range p.links {
		l.loss, l.dup, l.swap, l.flip, l.dead = 0, 0, 0, 0, [2]bool{}
	}
	for _, h := range p.host {
		h.src.left = 0
		h.service()
	}
}

// wantSettled fails unless each message that the host `from` sent arrived at the host
// `to` once, or was given up.
func wantSettled(t *testing.T, seed uint64, from, to *host) {
	seen := map[uint64]bool{}
	for _, n := range to.got {
		if seen[n] {
			t.Errorf("seed %d: message %d of side %d arrived twice", seed, n, from.side)
		}
		seen[n] = true
	}
	s := from.conn.Stats()
	if missing := int(from.src.next) - len(to.got); missing > int(s.GivenUp) || to.expired > int(s.GivenUp) {
		t.Errorf("seed %d: side %d: %d of %d messages missing, %d expired, %d given up", seed, from.side, missing, from.src.next, to.expired, s.GivenUp)
	}
	if _, inflight, _ := from.conn.Window(); inflight != 0 {
		t.Errorf("seed %d: side %d: %d bytes in flight for ever", seed, from.side, inflight)
	}
}

// wantProgress fails unless the repaired network carries data on all its paths.
func wantProgress(t *testing.T, seed uint64, p *pair) {
	h := p.host[0]
	had := len(p.host[1].got)
	h.src.left, h.src.size = 1000, 1000
	h.service()
	p.run(20*time.Second, func() bool { return h.src.open == 0 && h.src.left == 0 })
	if n := len(p.host[1].got) - had; n < 990 {
		t.Errorf("seed %d: %d messages of 1000 on the healed network", seed, n)
	}
	for range 4 { // the longest interval between probes is a second
		h.src.left = 100
		h.service()
		p.run(time.Second, never)
	}
	for side, h := range p.host {
		for _, v := range h.conn.Paths() {
			if v.State != srd.PathActive {
				t.Errorf("seed %d: side %d: path %d is %v on the healed network", seed, side, v.Slot, v.State)
			}
		}
	}
}
