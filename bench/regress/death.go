package regress

import (
	"github.com/srdtun/srdtun/bench/blackhole"
	"github.com/srdtun/srdtun/lab/stat"
)

var (
	stallP50  = figure{name: "blackhole, stall, p50", unit: "ms", lower: true}
	stallMost = figure{name: "blackhole, longest stall", unit: "ms", lower: true}
)

// deaths is the number of spines that fail in a run.
const deaths = 6

var death = scene{
	name: "blackhole", says: "the busiest spine drops everything silently, six times",
	figures: []figure{stallP50, stallMost},
	measure: func(r *run) error {
		ms, err := blackhole.Stalls(r.bin, deaths)
		if err != nil {
			return err
		}
		r.set(stallP50, stat.Quantile(ms, 0.5))
		r.set(stallMost, stat.Quantile(ms, 1))
		return nil
	},
}
