package sim_test

import (
	"os"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/lab"
)

// goodput returns what all flows of a group have together in Mbit/s, and how many they
// are, without the first samples.
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

// Beside plain TCP on one link both sides have 0.5 to 2 times their share by flows; where it
// is on two of four links, the tunnel has nearly all that is free; and alone its queue is short.
func TestTunnelBesidePlainTCP(t *testing.T) {
	p, err := lab.Load("plans/coexist.toml", os.ReadFile)
	if err != nil {
		t.Fatal(err)
	}
	p.Limit.Duration = 15 * time.Second
	for _, name := range []string{"ideal", "daemon"} {
		host, err := lab.HostNamed(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Cases {
			beside(t, p, &p.Cases[i], host)
		}
	}
}

func beside(t *testing.T, p *lab.Plan, c *lab.Case, host *lab.HostModel) {
	r, err := lab.Run(p, c, host, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
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
