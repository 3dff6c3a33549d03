package main

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/srdtun/srdtun/e2e/meter"
)

// percentiles are in microseconds.
type percentiles struct{ p50, p99 float64 }

// pingEvery is the pause between pings: long enough for an idle machine to fall
// asleep in between, as it does between the packets of a quiet user.
const pingEvery = "0.002"

// pingsPerSecond bounds the number of pings so that they fit the time; each takes
// pingEvery and its own round trip.
const pingsPerSecond = 400

func pings(s *site, l *link, seconds int) (percentiles, error) {
	count := strconv.Itoa(pingsPerSecond * seconds)
	out, err := s.a.Run("ping", "-n", "-i", pingEvery, "-c", count, "-W", "2", l.to.String())
	p, parseErr := parsePings(out)
	if parseErr != nil {
		return p, firstError(err, parseErr)
	}
	return p, nil
}

// pingTime is what ping says of one answer, in milliseconds.
var pingTime = regexp.MustCompile(`time=([0-9.]+) ms`)

func parsePings(out string) (percentiles, error) {
	var us []float64
	for _, m := range pingTime.FindAllStringSubmatch(out, -1) {
		ms, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return percentiles{}, err
		}
		us = append(us, ms*1000)
	}
	if len(us) == 0 {
		return percentiles{}, fmt.Errorf("no ping was answered: %.200s", out)
	}
	slices.Sort(us)
	return percentiles{quantile(us, 0.5), quantile(us, 0.99)}, nil
}

// quantile is the least of the sorted values that a share q of them does not
// exceed.
func quantile(sorted []float64, q float64) float64 {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

const (
	sockperfPort  = "11111"
	sockperfBytes = "64"
)

// requests measures the round trip of small requests over one TCP connection,
// each sent when the one before is answered.
func requests(s *site, l *link, seconds int) (percentiles, error) {
	server, err := s.b.Start("sockperf", "sr", "--tcp", "-i", l.to.String(), "-p", sockperfPort)
	if err != nil {
		return percentiles{}, err
	}
	defer server.Kill()
	if err := meter.AwaitListener(s.b.Namespace, server, sockperfPort); err != nil {
		return percentiles{}, err
	}
	out, err := s.a.Run("timeout", strconv.Itoa(seconds+int(loadSlack.Seconds())),
		"sockperf", "pp", "--tcp", "--full-rtt", "-i", l.to.String(), "-p", sockperfPort, "-t", strconv.Itoa(seconds), "-m", sockperfBytes)
	if err != nil {
		return percentiles{}, err
	}
	return parseSockperf(out)
}

// colour is a terminal's escape sequence, of which sockperf prints many.
var colour = regexp.MustCompile("\x1b\\[[0-9;]*m")

// sockperfLine is one percentile, in microseconds.
var sockperfLine = regexp.MustCompile(`percentile (50|99)\.000\s*=\s*([0-9.]+)`)

func parseSockperf(out string) (p percentiles, err error) {
	found := 0
	for _, m := range sockperfLine.FindAllStringSubmatch(colour.ReplaceAllString(out, ""), -1) {
		us, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return p, err
		}
		found++
		if m[1] == "50" {
			p.p50 = us
		} else {
			p.p99 = us
		}
	}
	if found != 2 {
		return p, fmt.Errorf("sockperf says no percentiles: %s", strings.TrimSpace(out))
	}
	return p, nil
}
