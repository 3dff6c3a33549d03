package workload

import (
	"math/rand/v2"
	"time"
)

// Poisson returns flows that start at random times within a period. Each flow is sent from a random
// member of the list `from` to another host, a random member of the list `to`. Flow sizes are drawn
// from the distribution s. The flows' mean rate is `load` x `capacity`, in bytes per second. For
// each member of `from`, the list `to` must contain another host.
func Poisson(rng *rand.Rand, from, to []int, s *Sizes, load, capacity float64, over time.Duration) []Flow {
	gap := s.Mean() / (load * capacity) // seconds
	var v []Flow
	for at := rng.ExpFloat64() * gap; at < over.Seconds() && len(v) < mostFlows; at += rng.ExpFloat64() * gap {
		f := Flow{Src: from[rng.IntN(len(from))], ID: len(v) + 1, Size: s.Draw(rng)}
		f.Start = time.Duration(at * 1e9)
		for f.Dst = f.Src; f.Dst == f.Src; {
			f.Dst = to[rng.IntN(len(to))]
		}
		v = append(v, f)
	}
	return v
}

// Barrier returns the flows of m, repeated in batches. Each batch starts after all flows of the
// previous batch have ended. A flow's Start is relative to the start of its batch. The result
// `batch` contains the batch number of each flow.
func Barrier(m []Flow, batches int) (v []Flow, batch []int) {
	for b := range batches {
		for _, f := range m {
			f.ID = len(v) + 1
			v, batch = append(v, f), append(batch, b)
		}
	}
	return v, batch
}
