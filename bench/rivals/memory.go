package rivals

import (
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// rssEvery is the interval between two readings of memory under load.
const rssEvery = 100 * time.Millisecond

// rss returns the largest resident memory of a single process, in MiB.
func rss(pids []int) (most float64, err error) {
	for _, pid := range pids {
		u, err := fabric.UsageOf(pid)
		if err != nil {
			return 0, err
		}
		most = max(most, float64(u.RSS)/(1<<20))
	}
	return most, nil
}

// rssPeak samples the resident memory of processes until the caller calls the returned function
// stop(). That function returns the maximum in MiB.
func rssPeak(pids []int) (stop func() (float64, error)) {
	type result struct {
		most float64
		err  error
	}
	quit, got := make(chan struct{}), make(chan result, 1)
	go func() {
		var r result
		tick := time.NewTicker(rssEvery)
		defer tick.Stop()
		for {
			mib, err := rss(pids)
			r.most, r.err = max(r.most, mib), firstError(r.err, err)
			select {
			case <-quit:
				got <- r
				return
			case <-tick.C:
			}
		}
	}()
	return func() (float64, error) {
		close(quit)
		r := <-got
		return r.most, r.err
	}
}
