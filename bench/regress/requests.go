package regress

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

var (
	idleP50 = figure{name: "idle request, p50", unit: "us", lower: true}
	idleP99 = figure{name: "idle request, p99", unit: "us", lower: true}
	loadP50 = figure{name: "request beside a full flow, p50", unit: "us", lower: true}
	loadP99 = figure{name: "request beside a full flow, p99", unit: "us", lower: true}
)

const askTime = 3 * time.Second

var asking = scene{
	name: "requests", says: "64 bytes there and back over one veth, idle and beside a full flow", quick: true,
	figures: []figure{idleP50, idleP99, loadP50, loadP99},
	measure: func(r *run) error {
		d, err := fabric.NewDirect(fabric.DirectSpec{WireLike: true})
		if err != nil {
			return err
		}
		r.atEnd(d.Close)
		if _, err := r.pair(d.A, d.B, tunnel.Config{}); err != nil {
			return err
		}
		p, err := requests(d.A, d.B, askTime)
		if err != nil {
			return err
		}
		r.set(idleP50, p.p50)
		r.set(idleP99, p.p99)
		return besideLoad(r, d.A, d.B)
	},
}

// besideLoad measures requests while a flow takes all it can get.
func besideLoad(r *run, a, b *fabric.Host) error {
	load, err := meter.Start(meter.Flow{Server: b, Client: a, To: tunnel.Inner4(2), For: time.Minute})
	if err != nil {
		return err
	}
	defer load.Stop()
	time.Sleep(500 * time.Millisecond) // past slow start
	p, err := requests(a, b, askTime)
	if err != nil {
		return err
	}
	r.set(loadP50, p.p50)
	r.set(loadP99, p.p99)
	return nil
}

// percentiles are in microseconds.
type percentiles struct{ p50, p99 float64 }

const sockperfPort = "11111"

// requests measures the round trip of 64 bytes over one TCP connection through the
// tunnel, each sent when the one before is answered.
func requests(a, b *fabric.Host, during time.Duration) (p percentiles, err error) {
	to := tunnel.Inner4(2).String()
	server, err := b.Start("sockperf", "sr", "--tcp", "-i", to, "-p", sockperfPort)
	if err != nil {
		return p, err
	}
	defer server.Kill()
	if err := meter.AwaitListener(b.Namespace, server, sockperfPort); err != nil {
		return p, err
	}
	seconds := int(during.Seconds())
	out, err := a.Run("timeout", strconv.Itoa(seconds+20),
		"sockperf", "pp", "--tcp", "--full-rtt", "-i", to, "-p", sockperfPort, "-t", strconv.Itoa(seconds), "-m", "64")
	if err != nil {
		return p, err
	}
	return parseSockperf(out)
}

var (
	// colour is a terminal's escape sequence, of which sockperf prints many.
	colour = regexp.MustCompile("\x1b\\[[0-9;]*m")
	// sockperfLine is one percentile, in microseconds.
	sockperfLine = regexp.MustCompile(`percentile (50|99)\.000\s*=\s*([0-9.]+)`)
)

func parseSockperf(out string) (p percentiles, err error) {
	found := sockperfLine.FindAllStringSubmatch(colour.ReplaceAllString(out, ""), -1)
	if len(found) != 2 {
		return p, fmt.Errorf("sockperf says no percentiles: %s", strings.TrimSpace(out))
	}
	for _, m := range found {
		us, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			return p, err
		}
		if m[1] == "50" {
			p.p50 = us
		} else {
			p.p99 = us
		}
	}
	return p, nil
}
