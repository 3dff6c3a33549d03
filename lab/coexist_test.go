package lab_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/lab"
)

// goodput returns the total goodput of a group in Mbit/s, without the first `skip` samples, and its
// number of flows.
func goodput(r *lab.Result, group string, skip int) (mbit float64, flows int) {
	samples := r.Samples[skip:]
	for i, f := range r.Flows {
		if f.Group != group {
			continue
		}
		flows++
		for _, row := range samples {
			mbit += float64(row[i]) * 8 / r.Sample / float64(len(samples))
		}
	}
	return mbit, flows
}

// between loads a plan and a host model.
func between(t *testing.T, plan, hosts string) (*lab.Plan, *lab.HostModel) {
	t.Helper()
	p, err := lab.Load(plan, os.ReadFile)
	must(t, err)
	host, err := lab.HostNamed(hosts)
	must(t, err)
	return p, host
}

// If a tunnel and plain TCP compete on one link, each has 0.5 to 2 times its fair share, which is
// proportional to its number of flows. If TCP uses two of four links, the tunnel gets nearly all
// the free capacity. If the tunnel is alone, its queue is short.
func TestTunnelBesidePlainTCP(t *testing.T) {
	for _, name := range []string{"ideal", "daemon"} {
		p, host := between(t, "plans/coexist.toml", name)
		p.Limit.Duration = 15 * time.Second
		for i := range p.Cases {
			beside(t, p, &p.Cases[i], host)
		}
	}
}

// deep plays a case of the plan with buffers of 200 ms, between daemons.
func deep(t *testing.T, name string, limit time.Duration) (*lab.Plan, *lab.Case, *lab.Result) {
	p, host := between(t, "plans/coexist-deep.toml", "daemon")
	p.Limit.Duration = limit
	i := slices.IndexFunc(p.Cases, func(c lab.Case) bool { return c.Name == name })
	r, err := lab.Run(p, &p.Cases[i], host, 1, nil)
	must(t, err)
	return p, &p.Cases[i], r
}

// The buffers are so deep that the competing flows never let them become empty. Each side gets its
// fair share and keeps it. The tunnel must not take the least round trip of some minutes for the
// round trip without a queue.
func TestTunnelInDeepBuffers(t *testing.T) {
	for _, name := range []string{"1 beside 1", "4 beside 4", "1 beside 4", "4 beside 1"} {
		_, c, r := deep(t, name, 75*time.Second)
		tunnel, n := goodput(r, "tunnel", c.Skip)
		plain, m := goodput(r, "plain", c.Skip)
		share, fair := tunnel/(tunnel+plain), float64(n)/float64(n+m)
		t.Logf("%s: %.1f and %.1f Mbit/s", name, tunnel, plain)
		if share < fair/2 || 1-share < (1-fair)/2 || tunnel+plain < 80 {
			t.Errorf("%s: %.1f and %.1f Mbit/s, a share of %.2f, fair is %.2f", name, tunnel, plain, share, fair)
		}
	}
}

// A buffer far shorter than the target queue overflows. When other flows compete, the tunnel must
// not take these losses for random losses. A sender that did so would send at 30 times the link's
// rate.
func TestTunnelInShortBuffers(t *testing.T) {
	const most = 0.4 // largest share of lost packets; eight flows have ten packets of buffer
	p, host := between(t, "plans/coexist-short.toml", "daemon")
	for i := range p.Cases {
		r, err := lab.Run(p, &p.Cases[i], host, 1, nil)
		must(t, err)
		var sent, drops uint64
		for _, l := range r.Links {
			sent, drops = sent+l.Packets, drops+l.Queue
		}
		share := float64(drops) / float64(sent+drops)
		t.Logf("%s: %d packets of %d dropped", p.Cases[i].Name, drops, sent+drops)
		if share > most {
			t.Errorf("%s: %.2f of the packets dropped, want %.2f at most", p.Cases[i].Name, share, most)
		}
	}
}

// Behind a policer no queue builds up at any rate. Each side gets at least `least` times its fair
// share, and the share of dropped packets is bounded.
func TestTunnelBehindAPolicer(t *testing.T) {
	const (
		least = 0.3 // smallest ratio to the fair share; see docs/limits.md
		most  = 0.1 // largest share of lost packets, both directions together
	)
	p, host := between(t, "plans/coexist-policed.toml", "daemon")
	for _, c := range p.Cases {
		if c.Transport == "srdtun" {
			t.Run(c.Name, func(t *testing.T) {
				t.Parallel()
				rate := c.Uplinks[0].Police
				var tunnel, plain, fair, sent, lost float64
				seeds := p.Seeds[:1]
				if rate < 100 { // few packets in a round trip, so the seeds differ much
					seeds = p.Seeds
				}
				for _, seed := range seeds {
					r, err := lab.Run(p, &c, host, seed, nil)
					must(t, err)
					ours, n := goodput(r, "tunnel", c.Skip)
					theirs, m := goodput(r, "plain", c.Skip)
					tunnel, plain, fair = tunnel+ours, plain+theirs, float64(m)/float64(n+m)
					for _, l := range r.Links {
						if strings.HasPrefix(l.Name, "t") {
							sent, lost = sent+float64(l.Packets), lost+float64(l.Faults+l.Queue)
						}
					}
				}
				tunnel, plain = tunnel/float64(len(seeds)), plain/float64(len(seeds))
				share, waste := plain/(tunnel+plain), lost/(sent+lost)
				t.Logf("%s: %.1f and %.1f Mbit/s, %.3f lost", c.Name, tunnel, plain, waste)
				if share < least*fair || 1-share < least*(1-fair) || tunnel+plain < 0.65*rate || waste > most {
					t.Errorf("%.1f and %.1f Mbit/s, plain TCP has %.2f and is to have %.2f, %.3f lost", tunnel, plain, share, fair, waste)
				}
			})
		}
	}
}

// With a buffer of 5 ms, about the target queue, the tunnel reacts to losses as plain TCP does. In
// the mean of three seeds, each side gets at least a seventh of the capacity.
func TestTunnelSharesAShortBuffer(t *testing.T) {
	p, host := between(t, "plans/coexist-short.toml", "daemon")
	p.Network.Queue = 64_000
	tunnel, plain := 0.0, 0.0
	for seed := range uint64(3) {
		r, err := lab.Run(p, &p.Cases[0], host, seed, nil)
		must(t, err)
		ours, _ := goodput(r, "tunnel", p.Cases[0].Skip)
		theirs, _ := goodput(r, "plain", p.Cases[0].Skip)
		t.Logf("%.1f and %.1f Mbit/s", ours, theirs)
		tunnel, plain = tunnel+ours/3, plain+theirs/3
	}
	if share := tunnel / (tunnel + plain); share < 0.15 || share > 0.85 || tunnel+plain < 80 {
		t.Errorf("%.1f and %.1f Mbit/s, a share of %.2f", tunnel, plain, share)
	}
}

// Other flows fill a buffer of 2.5 ms. The tunnel detects the drops when the queue is already gone.
// It must not take them for random losses. In the mean of three seeds, each of two groups of four
// flows gets at least an eighth of the capacity.
func TestOverflowToldOfLaterIsNoChance(t *testing.T) {
	p, host := between(t, "plans/coexist-short.toml", "daemon")
	p.Network.Queue, p.Limit = 32_000, lab.Duration{Duration: 20 * time.Second}
	c := p.Cases[1]
	c.Uplinks = []lab.UplinkPlan{c.Uplinks[0]}
	c.Uplinks[0].Delay = lab.Duration{Duration: 5 * time.Millisecond}
	tunnel, plain := 0.0, 0.0
	for seed := uint64(1); seed <= 3; seed++ {
		r, err := lab.Run(p, &c, host, seed, nil)
		must(t, err)
		ours, _ := goodput(r, "tunnel", c.Skip)
		theirs, _ := goodput(r, "plain", c.Skip)
		t.Logf("%.1f and %.1f Mbit/s", ours, theirs)
		tunnel, plain = tunnel+ours/3, plain+theirs/3
	}
	if share := plain / (tunnel + plain); share < 0.15 {
		t.Errorf("plain TCP has %.2f of the link", share)
	}
}

// If the route of a single flow becomes longer, the flow always keeps at least a quarter of the
// link, and soon fills it again. If one of four routes becomes longer, the flow continues to use
// the other three, and soon uses all four.
func TestTunnelOnALongerRoute(t *testing.T) {
	for name, want := range map[string]struct{ always, soon float64 }{
		"20 ms longer":             {25, 75},
		"60 ms longer":             {25, 75},
		"one of four 10 ms longer": {240, 320},
	} {
		p, _, r := deep(t, name, time.Minute)
		stretch := int(5 * time.Second / p.Sample.Duration)
		for i := stretch; i+stretch <= len(r.Samples); i += stretch {
			part := *r
			part.Samples = r.Samples[:i+stretch]
			mbit, _ := goodput(&part, "tunnel", i)
			if from := time.Duration(i) * p.Sample.Duration; mbit < want.always || mbit < want.soon && from >= 50*time.Second {
				t.Errorf("%s: %.1f Mbit/s in the five seconds after %v", name, mbit, from)
			}
		}
	}
}

func beside(t *testing.T, p *lab.Plan, c *lab.Case, host *lab.HostModel) {
	r, err := lab.Run(p, c, host, 1, nil)
	must(t, err)
	tunnel, n := goodput(r, "tunnel", c.Skip)
	plain, m := goodput(r, "plain", c.Skip)
	share := tunnel / (tunnel + plain)
	fair := float64(n) / float64(n+m)
	t.Logf("%s, %s: %.1f and %.1f Mbit/s", host.Name, c.Name, tunnel, plain)
	switch free := 2 * 96.0; {
	case len(c.Uplinks) > 1 && tunnel < 0.9*free:
		t.Errorf("%s, %s: %.1f Mbit/s of %.0f that are free", host.Name, c.Name, tunnel, free)
	case len(c.Uplinks) == 1 && (share < fair/2 || 1-share < (1-fair)/2):
		t.Errorf("%s, %s: a share of %.2f, fair is %.2f", host.Name, c.Name, share, fair)
	case tunnel+plain < 85:
		t.Errorf("%s, %s: %.1f Mbit/s together", host.Name, c.Name, tunnel+plain)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
