package results

import (
	"fmt"

	"github.com/srdtun/srdtun/lab/stat"
)

// death is a line of the file that "bench blackhole" writes. Times of a death are in ms, and rates
// in Mbit/s.
type death struct {
	Before float64 `json:"before"`
	During float64 `json:"during"`
	Stall  float64 `json:"stall"`
	Dead   struct {
		Again   int `json:"again"`
		GivenUp int `json:"given_up"`
	} `json:"dead"`
}

// fewestDeaths is the smallest number of failures for a 99th percentile.
const fewestDeaths = 100

func takeBlackhole(file string) (*table, error) {
	all, err := readLines[death](file)
	if err != nil {
		return nil, err
	}
	if len(all) < fewestDeaths {
		return nil, fmt.Errorf("%s has %d deaths, want %d", file, len(all), fewestDeaths)
	}
	t := &table{Machine: "2 virtual cores", Head: []string{fmt.Sprintf("the busiest spine drops everything for 0.5 s, %d times; one flow", len(all)), "srdtun"}}
	if t.Date, err = dated(file); err != nil {
		return nil, err
	}
	var stall, share []float64
	again, givenUp := 0, 0
	for _, d := range all {
		stall, share = append(stall, d.Stall), append(share, d.During/d.Before)
		again, givenUp = again+d.Dead.Again, givenUp+d.Dead.GivenUp
	}
	t.Rows = [][]string{
		{"longest stall of the flow: p50 / p99 / most, ms", fmt.Sprintf("%.0f / %.0f / %.0f", stat.Quantile(stall, 0.5), stat.Quantile(stall, 0.99), stat.Quantile(stall, 1))},
		{"goodput while the spine is dead, in percent of the goodput before (75 % is possible)", fmt.Sprintf("%.0f %%", 100*stat.Quantile(share, 0.5))},
		{"segments that the inner TCP sent again while the spine was dead, in all failures", fmt.Sprint(again)},
		{"messages given up", fmt.Sprint(givenUp)},
	}
	return t, nil
}
