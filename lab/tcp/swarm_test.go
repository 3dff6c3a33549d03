package tcp

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// story describes the outcome of a run with faults.
type story struct {
	hash   uint64
	events uint64
	stats  string
	done   bool
}

// play simulates a network with random faults and a transfer in each direction, all drawn from a
// seed. After a while, all faults end.
func play(seed uint64) story {
	rng := rand.New(rand.NewPCG(seed, 1))
	q := net.Quality{
		Rate:     float64(1+rng.IntN(1000)) * mbit,
		Delay:    time.Duration(10+rng.IntN(50_000)) * time.Microsecond,
		Queue:    5_000 + rng.IntN(500_000),
		Loss:     rng.Float64() * 0.05,
		Reorder:  rng.Float64() * 0.05,
		HoldMost: time.Duration(1 + rng.IntN(int(20*ms))),
		Burst:    net.Burst{Begin: rng.Float64() * 0.01, End: 0.1, Loss: 1},
	}
	cfg := Linux()
	cfg.Algorithm = Algorithm(rng.IntN(3))
	cfg.ECN = cfg.Algorithm == DCTCP
	cfg.RACK, cfg.TLP = rng.IntN(2) == 0, rng.IntN(2) == 0
	cfg.HyStart, cfg.Handshake = rng.IntN(2) == 0, rng.IntN(2) == 0
	cfg.MinRTO = time.Duration(1+rng.IntN(200)) * ms
	cfg.Jitter = time.Duration(rng.IntN(3)) * 10 * time.Microsecond
	cfg.MSS = 100 + rng.IntN(1300)
	cfg.AckEvery, cfg.QuickAcks = 1+rng.IntN(4), rng.IntN(20)
	size := int64(1 + rng.IntN(1_000_000))
	l := newLanes(seed, q, q)
	l.back.Quality.Loss = rng.Float64() * 0.05
	if rng.IntN(2) == 0 {
		cfg.NIC = NewNIC(l.e, q.Rate)
	}
	l.e.After(10*time.Second, func() {
		for _, link := range append(l.links, l.back) {
			link.Quality.Loss, link.Quality.Burst, link.Quality.Reorder = 0, net.Burst{}, 0
		}
	})
	var s story
	if rng.IntN(2) == 0 {
		v := l.connect(cfg, 1)
		v.from.Write(size)
		s.done = l.e.Run(5*time.Minute, func() bool { return v.from.board.una == size && v.to.in.next == size })
		s.stats = fmt.Sprintf("%+v %+v", v.from.Stats, v.to.Stats)
	} else {
		from, to := l.multi(cfg, 1, 1+rng.IntN(4))
		from.Write(size)
		s.done = l.e.Run(5*time.Minute, func() bool { return from.una == size && to.in.next == size })
		for _, c := range from.subflows {
			s.stats += fmt.Sprintf("%+v ", c.Stats)
		}
	}
	s.hash, s.events = l.e.Hash(), l.e.Done()
	return s
}

// Whatever the faults, every byte must arrive and be acknowledged.
func TestSwarm(t *testing.T) {
	for seed := range uint64(200) {
		if s := play(seed); !s.done {
			t.Errorf("seed %d: not done after %d events: %s", seed, s.events, s.stats)
		}
	}
}

// The same seed must give the same run.
func TestSameSeedSameRun(t *testing.T) {
	hashes := map[uint64]bool{}
	for seed := range uint64(20) {
		a, b := play(seed), play(seed)
		if a != b {
			t.Errorf("seed %d:\n%+v\n%+v", seed, a, b)
		}
		hashes[a.hash] = true
	}
	if len(hashes) != 20 {
		t.Errorf("20 seeds gave %d runs", len(hashes))
	}
}
