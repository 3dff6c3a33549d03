package e2e

import (
	"flag"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// profiles are pairs of paths that differ in delay, jitter, loss or rate, as published by mqvpn
// (2026-06). The sixteen profiles take some ten minutes.
var profiles = []struct {
	name string
	a, b linkemu.Impairment
}{
	{"baseline", uplink(20, 0, 0, 50), uplink(20, 0, 0, 50)},
	{"rtt_40", uplink(20, 0, 0, 50), uplink(40, 0, 0, 50)},
	{"rtt_70", uplink(20, 0, 0, 50), uplink(70, 0, 0, 50)},
	{"rtt_120", uplink(20, 0, 0, 50), uplink(120, 0, 0, 50)},
	{"rtt_320", uplink(20, 0, 0, 50), uplink(320, 0, 0, 50)},
	{"jit_5", uplink(20, 5, 0, 50), uplink(20, 5, 0, 50)},
	{"jit_20", uplink(20, 20, 0, 50), uplink(20, 20, 0, 50)},
	{"loss_05", uplink(20, 0, 0.005, 50), uplink(20, 0, 0.005, 50)},
	{"loss_2", uplink(20, 0, 0.02, 50), uplink(20, 0, 0.02, 50)},
	{"bw_4to1", uplink(20, 0, 0, 50), uplink(20, 0, 0, 12)},
	{"bw_10to1", uplink(20, 0, 0, 100), uplink(20, 0, 0, 10)},
	{"dual_lte", uplink(30, 5, 0.005, 40), uplink(45, 8, 0.005, 25)},
	{"fiber_lte", uplink(8, 0, 0, 300), uplink(40, 8, 0.005, 30)},
	{"lte_starlink", uplink(35, 8, 0, 40), uplink(50, 25, 0.01, 100)},
	{"lte_geo", uplink(35, 0, 0, 40), uplink(320, 20, 0.005, 20)},
	{"congested", uplink(50, 20, 0.02, 20), uplink(60, 25, 0.02, 15)},
}

// uplink returns a path with a one-way delay and its standard deviation in milliseconds, a loss
// probability, and a rate in Mbit/s.
func uplink(delay, deviation int, loss float64, mbit int64) linkemu.Impairment {
	return linkemu.Impairment{
		Delay: time.Duration(delay) * time.Millisecond, Deviation: time.Duration(deviation) * time.Millisecond,
		Loss: loss, RateBytesPerSec: mbit * 1e6 / 8,
	}
}

var (
	unlike = flag.String("unlike", "rtt_320,bw_4to1,dual_lte", "the `profiles` of TestUnlikePaths, or \"all\"")
	// On a fast machine, this flag makes each profile take 14 s instead of three times as long.
	unlikeAtOnce = flag.Bool("unlike-at-once", false, "measure single paths and both at the same time (with -test.parallel 5)")
	unlikePlain  = flag.Bool("unlike-plain", false, "also measure TCP without a tunnel on each path")
	unlikeFor    = flag.Duration("unlike-for", 8*time.Second, "how long a flow of TestUnlikePaths is measured, after unlikeStart")
)

const (
	// unlikeStart is the time at the start of a flow that is not measured.
	unlikeStart = 2 * time.Second
	// unlikeSettle is the time for the validation and measurement of paths.
	unlikeSettle = 3 * time.Second
	// unlikeShare is the minimum goodput of both paths together, as a fraction of the better path's
	// goodput. With random losses, runs of the same path differ by a fifth. A tunnel that waits for
	// the longer path would reach only a tenth.
	unlikeShare = 0.75
	// unlikeRounds is the maximum number of rounds, whose bytes are added. One round on a path with
	// losses and jitter gives between 16 and 28 Mbit/s, so a single round says little about the
	// mean.
	unlikeRounds = 4
)

// TestUnlikePaths tests that two paths together are never slower than the better path alone.
func TestUnlikePaths(t *testing.T) {
	long(t)
	for _, p := range profiles {
		if !chosen(p.name) {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			var a, b, both, plainA, plainB float64 // sums
			for round := 1; round <= unlikeRounds; round++ {
				t.Run("over", func(t *testing.T) {
					over(t, "a", &a, true, p.a)
					over(t, "b", &b, true, p.b)
					over(t, "ab", &both, true, p.a, p.b)
					if *unlikePlain {
						over(t, "plain_a", &plainA, false, p.a)
						over(t, "plain_b", &plainB, false, p.b)
					}
				})
				if t.Failed() {
					return
				}
				n := 1e6 * float64(round)
				t.Logf("%s, mean of %d: a %.1f, b %.1f, both %.1f Mbit/s: %.2f of the better; TCP %.1f, %.1f", p.name, round,
					a/n, b/n, both/n, both/max(a, b), plainA/n, plainB/n)
				if both >= unlikeShare*max(a, b) {
					return
				}
			}
			t.Errorf("%.2f of the better path, want %.2f", both/max(a, b), unlikeShare)
		})
	}
}

// chosen reports whether the flags select a profile.
func chosen(profile string) bool {
	return *unlike == "all" || strings.Contains(","+*unlike+",", ","+profile+",")
}

// over adds to sum the goodput in bit/s of a flow over these paths, with or without a tunnel.
func over(t *testing.T, name string, sum *float64, through bool, paths ...linkemu.Impairment) {
	t.Helper()
	between(t, name, through, *unlikeAtOnce, paths, func(t *testing.T, f *fabric.Fabric, to netip.Addr) {
		fl := flow(f, 1)
		fl.To, fl.For = to, unlikeStart+*unlikeFor
		r, err := meter.Start(fl)
		must(t, err)
		must(t, r.Wait())
		*sum += r.Sum().Mean(unlikeStart, fl.For)
	})
}

// between runs a test on two hosts that are connected by these paths, with or without a tunnel. If
// atOnce is set, other tests may run at the same time. The second host's address is `to`.
func between(t *testing.T, name string, through, atOnce bool, paths []linkemu.Impairment, run func(t *testing.T, f *fabric.Fabric, to netip.Addr)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		if atOnce {
			t.Parallel()
		}
		f := network(t, fabric.Spec{Spines: 1, RateMbit: -1, Lines: true})
		ways(t, f, paths)
		to := f.B(1).V4[0]
		if through {
			pair(t, f, tunnel.Config{Tag: name})
			time.Sleep(unlikeSettle)
			to = tunnel.Inner4(2)
		}
		run(t, f, to)
	})
}

// ways emulates the paths in the only cable of the fabric. The ports of a flow select its path,
// which is the same in both directions.
func ways(t *testing.T, f *fabric.Fabric, paths []linkemu.Impairment) {
	t.Helper()
	var lines [2]*linkemu.Line
	for i := range lines {
		var err error
		if lines[i], err = linkemu.NewLine(1, paths...); err != nil {
			t.Fatal(err)
		}
	}
	var c *linkemu.Cable
	must(t, f.Lines[0].Do(func() (err error) { c, err = linkemu.Join("left", "right", lines[0], lines[1]); return err }))
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			ab, ba := c.Stats()
			t.Logf("there %+v, back %+v", ab, ba)
		}
	})
	must(t, f.Warm())
}
