package rivals

import (
	"fmt"
	"regexp"
	"strconv"

	"github.com/srdtun/srdtun/bench/sockperf"
	"github.com/srdtun/srdtun/lab/stat"
)

// pingEvery is the pause between pings. It is long enough for an idle processor to enter a sleep
// state, as happens between the packets of an interactive user.
const pingEvery = "0.002"

// pingsPerSecond is the number of pings in each second of the measuring time. It is small enough to
// leave time for pingEvery and the round trip of each ping.
const pingsPerSecond = 400

func pings(s *site, l *link, seconds int) (sockperf.Percentiles, error) {
	count := strconv.Itoa(pingsPerSecond * seconds)
	out, err := s.a.Run("ping", "-n", "-i", pingEvery, "-c", count, "-W", "2", l.to.String())
	p, parseErr := parsePings(out)
	if parseErr != nil {
		return p, firstError(err, parseErr)
	}
	return p, nil
}

// pingTime matches the round trip, in milliseconds, in a line of ping's output.
var pingTime = regexp.MustCompile(`time=([0-9.]+) ms`)

func parsePings(out string) (sockperf.Percentiles, error) {
	var us []float64
	for _, m := range pingTime.FindAllStringSubmatch(out, -1) {
		ms, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return sockperf.Percentiles{}, err
		}
		us = append(us, ms*1000)
	}
	if len(us) == 0 {
		return sockperf.Percentiles{}, fmt.Errorf("no ping was answered: %.200s", out)
	}
	return sockperf.Percentiles{P50: stat.Quantile(us, 0.5), P99: stat.Quantile(us, 0.99)}, nil
}
