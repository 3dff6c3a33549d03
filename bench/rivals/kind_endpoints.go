package rivals

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// endpoints runs srdperf at both ends, which sends messages with package srd/ep. The servers listen
// at the first address of host B.
var endpoints = kind{"srdperf", "srdperf", func(b *bench, s *site) (*link, error) {
	p := &perf{bin: b.srdperf}
	l := &link{perf: p, close: p.close}
	for i := range manyServers {
		args := []string{}
		if i > 0 {
			args = append(args, "--clients-of", p.plain[0])
		}
		at, err := p.serve(s, args...)
		if err != nil {
			return l, err
		}
		p.plain = append(p.plain, at)
	}
	var err error
	p.tagged, err = p.serve(s, "--tagged")
	return l, err
}}

// manyServers is the number of servers for row "many".
const manyServers = 4

// perf holds the running srdperf servers on host B.
type perf struct {
	bin    string
	all    []*fabric.Process
	plain  []string // KEY@ADDR of each server
	tagged string
}

// serve starts an srdperf server, and returns the address that clients use.
func (p *perf) serve(s *site, args ...string) (at string, err error) {
	var out fabric.Log
	server, err := s.b.StartWith(&out, nil, p.bin, append([]string{"serve", "--size", "64K"}, args...)...)
	if err != nil {
		return "", err
	}
	p.all = append(p.all, server)
	for deadline := time.Now().Add(tunnelWait); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if line, _, whole := strings.Cut(out.String(), "\n"); whole {
			return atOne(line, s.b.Addr4())
		}
		select {
		case <-server.Done():
			return "", fmt.Errorf("srdperf serve: %s", server.Log.String())
		default:
		}
	}
	return "", errors.New("srdperf serve prints no KEY@ADDR")
}

func (p *perf) close() (err error) {
	for _, server := range p.all {
		err = errors.Join(err, server.Stop(stopWait))
	}
	return err
}

// atOne shortens the server's line "KEY@ADDR,ADDR" to "KEY@ADDR", with the given address.
func atOne(line string, addr netip.Addr) (string, error) {
	key, addrs, _ := strings.Cut(line, "@")
	for a := range strings.SplitSeq(addrs, ",") {
		if at, err := netip.ParseAddrPort(a); err == nil && at.Addr() == addr {
			return key + "@" + a, nil
		}
	}
	return "", fmt.Errorf("srdperf serve prints %q, without the address %v", line, addr)
}

// perfReport is the JSON output of an srdperf client.
type perfReport struct {
	Flows       int     `json:"flows"`
	Bytes       float64 `json:"bytes"`
	BytesPerSec float64 `json:"bytes_per_second"`
	PerSec      float64 `json:"messages_per_second"`
	Slowest     float64 `json:"slowest_flow"`
	Fastest     float64 `json:"fastest_flow"`
	Latency     struct {
		P50 float64 `json:"p50"` // ns
		P99 float64 `json:"p99"`
	} `json:"latency_ns"`
}

// client runs an srdperf client on host A.
func (p *perf) client(s *site, during time.Duration, args []string) (r perfReport, err error) {
	var out fabric.Log
	c, err := s.a.StartWith(&out, nil, p.bin, args...)
	if err != nil {
		return r, err
	}
	if err := c.Wait(during + loadSlack); err != nil {
		return r, fmt.Errorf("%w: %s", err, strings.TrimSpace(c.Log.String()))
	}
	return parsePerf(out.String())
}

func parsePerf(text string) (r perfReport, err error) {
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return r, err
	}
	if r.Bytes <= 0 || r.PerSec <= 0 || r.Flows < 1 || r.Flows > 1 && r.Fastest <= 0 {
		return r, errors.New("no message was accepted")
	}
	return r, nil
}
