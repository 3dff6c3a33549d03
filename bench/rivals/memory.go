package rivals

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// rssEvery is the interval between two readings of memory under load.
const rssEvery = 100 * time.Millisecond

// rss returns the resident memory, in MiB, of the process that has the most.
func rss(pids []int) (most float64, err error) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			return 0, err
		}
		mib, err := parseRSS(string(text))
		if err != nil {
			return 0, fmt.Errorf("process %d: %w", pid, err)
		}
		most = max(most, mib)
	}
	return most, nil
}

// parseRSS parses the line "VmRSS: 13540 kB" of /proc/PID/status.
func parseRSS(status string) (mib float64, err error) {
	_, rest, found := strings.Cut(status, "VmRSS:")
	f := strings.Fields(rest)
	if !found || len(f) < 2 || f[1] != "kB" {
		return 0, fmt.Errorf("no VmRSS in %.80q", status)
	}
	kib, err := strconv.ParseFloat(f[0], 64)
	return kib / 1024, err
}

// rssPeak samples the memory of processes until the caller calls stop, which returns the
// maximum in MiB.
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
