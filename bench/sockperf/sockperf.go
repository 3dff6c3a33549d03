// Package sockperf runs the program sockperf to measure the round trip of small requests over TCP.
package sockperf

import (
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
)

// Percentiles holds round trip percentiles in microseconds.
type Percentiles struct{ P50, P99 float64 }

const (
	port  = "11111"
	bytes = "64"
	// slack is the time that sockperf has to connect and to end, in addition to the measuring time.
	slack = 20 * time.Second
)

// Requests sends requests of 64 bytes from client to the server's address over one TCP connection.
// Each request is sent after the answer to the previous one. The measuring time is rounded to whole
// seconds.
func Requests(server, client *fabric.Host, to netip.Addr, during time.Duration) (p Percentiles, err error) {
	s, err := server.Start("sockperf", "sr", "--tcp", "-i", to.String(), "-p", port)
	if err != nil {
		return p, err
	}
	defer s.Kill()
	if err := meter.AwaitListener(server.Namespace, s, port); err != nil {
		return p, err
	}
	out, err := client.Run("timeout", seconds(during+slack),
		"sockperf", "pp", "--tcp", "--full-rtt", "-i", to.String(), "-p", port, "-t", seconds(during), "-m", bytes)
	if err != nil {
		return p, err
	}
	return parse(out)
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

var (
	// colour matches a terminal's escape sequence, because sockperf prints many of them.
	colour = regexp.MustCompile("\x1b\\[[0-9;]*m")
	// line matches a line of sockperf's output with one percentile, in microseconds.
	line = regexp.MustCompile(`percentile (50|99)\.000\s*=\s*([0-9.]+)`)
)

func parse(out string) (p Percentiles, err error) {
	found := line.FindAllStringSubmatch(colour.ReplaceAllString(out, ""), -1)
	if len(found) != 2 {
		return p, fmt.Errorf("sockperf says no percentiles: %s", strings.TrimSpace(out))
	}
	for _, m := range found {
		us, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return p, err
		}
		if m[1] == "50" {
			p.P50 = us
		} else {
			p.P99 = us
		}
	}
	return p, nil
}
