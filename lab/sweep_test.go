package lab

import (
	"strings"
	"testing"
	"time"
)

// On networks of all kinds, flows take no longer than with TCP, and no longer than on a similar
// network, except for known misses. This test runs the short sweep. `srdsim sweep` runs the whole
// sweep, with more seeds.
func TestShortSweep(t *testing.T) {
	var hosts []*HostModel
	for _, name := range usualHosts {
		m, err := HostNamed(name)
		must(t, err)
		hosts = append(hosts, m)
	}
	var points []Point
	for _, x := range SweepPoints() {
		if x.Short {
			points = append(points, x)
		}
	}
	must(t, Sweep(points, hosts, []uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, func(x *Point, v []SweepResult) {
		for i := range v {
			if text := v[i].Worse(); text != "" {
				t.Errorf("%s on %s: %s", x.Name, v[i].Host, text)
			}
			if v[i].Open[0] > 0 {
				t.Errorf("%s on %s: %d flows did not end within %v", x.Name, v[i].Host, v[i].Open[0], sweepLimit)
			}
		}
	}))
}

// Each known miss belongs to an existing point, and its values miss a goal.
func TestKnownRatiosAreOfPoints(t *testing.T) {
	names := map[string]bool{}
	for _, x := range SweepPoints() {
		if names[x.Name] {
			t.Errorf("two points are called %q", x.Name)
		}
		names[x.Name] = true
	}
	for name, hosts := range knownRatios {
		if !names[name] {
			t.Errorf("%q is no point", name)
		}
		for host, r := range hosts {
			if _, err := HostNamed(host); err != nil || !(&SweepResult{Ratio: r}).Missed() {
				t.Errorf("%q on %s: %v is no miss (%v)", name, host, r, err)
			}
		}
	}
}

// A point that is worse than TCP is reported, but only if it is also worse than its known miss.
func TestSweepVerdicts(t *testing.T) {
	for _, c := range []struct {
		got, known Ratio
		want       string
	}{
		{Ratio{1, 1, 1}, Ratio{}, ""},
		{Ratio{1.05, 1.09, 1.6}, Ratio{}, ""},
		{Ratio{1.2, 0.5, 0}, Ratio{}, "mean 1.20"},
		{Ratio{0.5, 2, 0}, Ratio{Mean: 3}, "max 2.00"},
		{Ratio{2.1, 2, 0}, Ratio{2, 2, 0}, ""},
		{Ratio{2.3, 2, 0}, Ratio{2, 2, 0}, "at most 2.00"},
		{Ratio{0.5, 0.5, 2}, Ratio{}, "cliff: 2.00"},
		{Ratio{0.5, 0.5, 5}, Ratio{Cliff: 5}, ""},
	} {
		r := SweepResult{Ratio: c.got, KnownMiss: c.known}
		if text := r.Worse(); c.want == "" && text != "" || !strings.Contains(text, c.want) {
			t.Errorf("%v beside %v: %q, want %q", c.got, c.known, text, c.want)
		}
	}
}

// The network of a point has the round trip and the rate of the point.
func TestPointsAreBuilt(t *testing.T) {
	for _, x := range SweepPoints() {
		p := x.plan()
		if err := p.check(); err == nil || !strings.Contains(err.Error(), "no seeds") {
			t.Errorf("%s: %v", x.Name, err)
		}
		r := newRun(p, &p.Cases[0], 1)
		n := r.net
		last := len(n.Hosts) - 1
		delay, rate := n.Path(0, last, 0)
		if d := 2*delay - x.RTT; d < -time.Microsecond || d > time.Microsecond || rate != x.Gbit*1e9/8 {
			t.Errorf("%s: round trip %v, %v bytes/s", x.Name, 2*delay, rate)
		}
		if err := r.addFlows(); err != nil {
			t.Errorf("%s: %v", x.Name, err)
		}
	}
}
