package cores

import "time"

// work is the processor time of one end for a train. Threads do the free part side by side.
// Each station admits one thread at a time.
type work struct {
	free     time.Duration
	stations []time.Duration
}

// speedup is how many times as much n cores carry as one core. It is exact mean value analysis
// of a closed network (Reiser and Lavenberg, JACM 1980). In it n threads go through the free
// part and every station in turn. With one station this is the machine repairman's model. Times
// are assumed to be exponential, which overstates waiting. Even times give min(n, total over
// the longest station).
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

// most is the speedup with even times. No number of cores exceeds it.
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
