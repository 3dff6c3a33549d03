package rivals

import (
	"errors"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/bench/sockperf"
	"github.com/srdtun/srdtun/e2e/meter"
)

// These variables are the networks of "bench messages". The comparison of tunnels uses them too.
var (
	messageVeth  = network{"one-link", realVeth.title, realVeth.links, realVeth.wireLike}
	messageLinks = network{"four-links", fourLinks.title, fourLinks.links, fourLinks.wireLike}
)

// These constants are the rows of "bench messages". Results of UDP sockets and of the tunnel appear
// in the most similar row of srdperf. TCP requests appear in row "pingpong", one TCP flow in
// "bandwidth", and 64-byte datagrams in "rate".
const (
	rowPingpong  = "pingpong"
	rowBandwidth = "bandwidth" // messages of 64 KiB
	rowMiddle    = "16k"
	rowShort     = "4k"
	rowRate      = "rate" // messages of 64 bytes
	rowWrite     = "write"
	rowRead      = "read"
	rowTagged    = "tagged"
	rowIncast    = "incast" // eight endpoints send to one
	rowMany      = "many"   // one endpoint sends to four
)

var (
	messageRows   = []string{rowPingpong, rowBandwidth, rowMiddle, rowShort, rowRate, rowWrite, rowRead, rowTagged, rowIncast, rowMany}
	messageMatrix = []entry{
		{messageVeth, udpSockets, []string{rowPingpong}},
		{messageVeth, srdtun, []string{rowPingpong, rowBandwidth, rowRate}},
		{messageVeth, endpoints, messageRows},

		{messageLinks, udpSockets, []string{rowPingpong}},
		{messageLinks, srdtun, []string{rowPingpong, rowBandwidth}},
		{messageLinks, endpoints, []string{rowPingpong, rowBandwidth}},
	}
)

// perfRow holds the srdperf arguments that measure a row.
type perfRow struct {
	command string
	size    string
	more    []string
}

var perfRows = map[string]perfRow{
	rowPingpong:  {"pingpong", "64", nil},
	rowBandwidth: {"bandwidth", "64K", nil},
	rowMiddle:    {"bandwidth", "16K", nil},
	rowShort:     {"bandwidth", "4K", nil},
	rowRate:      {"rate", "64", nil},
	rowWrite:     {"write", "64K", nil},
	rowRead:      {"read", "64K", nil},
	rowTagged:    {"tagged", "64K", nil},
	rowIncast:    {"incast", "64K", []string{"--senders", "8"}},
	rowMany:      {"many", "64K", nil},
}

// messages measures one row of "bench messages".
func (b *bench) messages(s *site, l *link, row string) ([]value, error) {
	during := time.Duration(b.seconds) * time.Second
	switch {
	case l.perf != nil:
		return l.perf.measure(s, row, during)
	case row == rowPingpong && l.echo:
		p, err := udpRequests(s, during)
		return percentiles(p), err
	case row == rowPingpong:
		p, err := sockperf.Requests(s.b, s.a, l.to, during)
		return percentiles(p), err
	case row == rowBandwidth:
		return b.bulk(s, l, 1)
	case row == rowRate:
		rate, err := udpRate(s, l, b.blastTime())
		return []value{{kpps, rate / 1000}}, err
	}
	return nil, fmt.Errorf("row %q has no meaning here", row)
}

// measure runs an srdperf client on host A against the servers on host B.
func (p *perf) measure(s *site, row string, during time.Duration) ([]value, error) {
	r := perfRows[row]
	args := append([]string{r.command, "--json", "-s", r.size, "-D", during.String()}, r.more...)
	switch row {
	case rowTagged:
		args = append(args, p.tagged)
	case rowMany:
		args = append(args, p.plain...)
	default:
		args = append(args, p.plain[0])
	}
	before, err := meter.ReadCPU()
	if err != nil {
		return nil, err
	}
	report, err := p.client(s, during, args)
	after, cpuErr := meter.ReadCPU()
	if err := errors.Join(err, cpuErr); err != nil {
		return nil, fmt.Errorf("srdperf %s: %w", r.command, err)
	}
	micro := func(ns float64) float64 { return ns / 1e3 }
	switch row {
	case rowPingpong:
		return []value{{p50us, micro(report.Latency.P50)}, {p99us, micro(report.Latency.P99)}}, nil
	case rowRate:
		return []value{{kpps, report.PerSec / 1e3}}, nil
	}
	v := []value{{gbps, report.BytesPerSec * 8e-9}, {cpuPerGB, after.Since(before).Busy / (report.Bytes * 1e-9)}, {p99us, micro(report.Latency.P99)}}
	if report.Flows > 1 {
		v = append(v, value{slowestShare, report.Slowest / report.Fastest})
	}
	return v, nil
}
