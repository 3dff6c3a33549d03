package apps

import (
	"slices"
	"time"

	"github.com/srdtun/srdtun/lab/stat"
)

const (
	// dead is the time for which a failed spine drops all packets silently. This time is long
	// enough for several retransmission timeouts of plain TCP. The first timeout expires after 200
	// ms.
	dead = 2 * time.Second
	// calm is the time before a spine fails. During this time the benchmark finds the busiest
	// spine, and measures the application's stalls without a failure.
	calm = time.Second
	// heal is the time that the network has to recover after a spine's failure. This time is
	// long because srdtun probes failed paths up to a second apart.
	heal = 1500 * time.Millisecond
)

// death holds the times of one spine's failure.
type death struct{ calm, died, healed time.Time }

// deaths lets n spines fail one after another. The function which() returns the number of the
// next spine to fail.
func (c *cluster) deaths(n int, which func(i int, since []uint64) (int, error)) (all []death, err error) {
	for i := range n {
		since, err := c.f.Counters()
		if err != nil {
			return all, err
		}
		d := death{calm: time.Now()}
		time.Sleep(calm)
		spine, err := which(i, since)
		if err != nil {
			return all, err
		}
		d.died = time.Now()
		if err := c.f.Break(spine); err != nil {
			return all, err
		}
		time.Sleep(dead)
		if err := c.f.Heal(); err != nil {
			return all, err
		}
		d.healed = time.Now()
		time.Sleep(heal)
		all = append(all, d)
	}
	return all, nil
}

// spanOf estimates how long n failures of spines take, including some milliseconds for loading the
// nftables rules of each failure.
func spanOf(n int) time.Duration {
	return time.Duration(n) * (calm + dead + heal + 100*time.Millisecond)
}

// answer holds the times of one request to an application and of its response.
type answer struct{ asked, answered time.Time }

// longest returns the longest response time of the requests that were open during a span.
func longest(answers []answer, from, to time.Time) (most time.Duration) {
	for _, a := range answers {
		if a.asked.Before(to) && a.answered.After(from) {
			most = max(most, a.answered.Sub(a.asked))
		}
	}
	return most
}

// stalls returns the longest response time during each failure, and during the calm before each
// failure.
func stalls(answers []answer, all []death) (dying, calm []time.Duration) {
	for _, d := range all {
		dying = append(dying, longest(answers, d.died, d.healed))
		calm = append(calm, longest(answers, d.calm, d.died))
	}
	slices.Sort(dying)
	slices.Sort(calm)
	return dying, calm
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// told converts the stalls to named values, and stores them for the picture.
func (r *run) told(answers []answer, all []death) []value {
	dying, calm := stalls(answers, all)
	for _, d := range dying {
		r.worst = append(r.worst, ms(d))
	}
	return []value{
		{"deaths", float64(len(all))},
		{"longest_p50_ms", ms(stat.Quantile(dying, 0.5))},
		{"longest_p99_ms", ms(stat.Quantile(dying, 0.99))},
		{"longest_max_ms", ms(stat.Quantile(dying, 1))},
		{"calm_p50_ms", ms(stat.Quantile(calm, 0.5))},
		{"calm_p99_ms", ms(stat.Quantile(calm, 0.99))},
	}
}
