package cores

import "time"

// work is what one end does for a train, in processor time: what any thread can do beside
// the others, and stations, each of which one thread at a time can pass.
type work struct {
	free     time.Duration
	stations []time.Duration
}

// speedup is how many times as much n cores carry as one: exact mean value analysis of the
// closed network of n threads that go from the free part through every station and back
// (Reiser and Lavenberg, JACM 1980), the machine repairman's where there is one station.
// Times are taken for exponential, which makes threads wait longer than even ones would:
// with even times it is min(n, total over the longest station).
func (w work) speedup(n int) float64 {
	queue := make([]float64, len(w.stations))
	stay := make([]float64, len(w.stations))
	one, rate := 0.0, 0.0
	for k := 1; k <= n; k++ {
		round := w.free.Seconds()
		for i, s := range w.stations {
			stay[i] = s.Seconds() * (1 + queue[i])
			round += stay[i]
		}
		rate = float64(k) / round
		for i := range queue {
			queue[i] = rate * stay[i]
		}
		if k == 1 {
			one = rate
		}
	}
	return rate / one
}

// most is what even times would give, and no number of cores exceeds.
func (w work) most(n int) float64 {
	all := w.free
	for _, s := range w.stations {
		all += s
	}
	best := float64(n)
	for _, s := range w.stations {
		if s > 0 {
			best = min(best, all.Seconds()/s.Seconds())
		}
	}
	return best
}
