package e2e

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/meter"
)

// TestBesidePlainTCP lets a flow through the tunnel and a plain TCP flow share a link. The buffer
// of the link holds 200 ms, and plain TCP never lets the buffer run empty. Over several of CUBIC's
// periods, each flow must get at least half of its fair share. Single periods vary, so the bound
// for one period is only a fifth of the fair share.
func TestBesidePlainTCP(t *testing.T) {
	long(t)
	const mbit, settle, lasts = 100, 30 * time.Second, 90 * time.Second
	link := uplink(1, 0, 0, mbit)
	link.LimitBytes = mbit * 1e6 / 8 / 5
	between(t, "200ms", true, false, []linkemu.Impairment{link}, func(t *testing.T, f *fabric.Fabric, to netip.Addr) {
		inside, plain := flow(f, 1), flow(f, 1)
		inside.To, plain.To, plain.Port = to, f.B(1).V4[0], "5202"
		var rate [2]float64
		var runs [2]*meter.Run
		for i, fl := range []meter.Flow{inside, plain} {
			var err error
			fl.For = lasts
			if runs[i], err = meter.Start(fl); err != nil {
				t.Fatal(err)
			}
		}
		for i, r := range runs {
			must(t, r.Wait())
			rate[i] = r.Sum().Mean(settle, lasts) / 1e6
		}
		t.Logf("%.1f Mbit/s inside, %.1f beside it, of %d", rate[0], rate[1], mbit)
		if share := rate[0] / (rate[0] + rate[1]); share < 0.2 || share > 0.8 || rate[0]+rate[1] < 0.8*mbit {
			t.Errorf("%.1f Mbit/s inside, %.1f beside it, of %d: a share of %.2f", rate[0], rate[1], mbit, share)
		}
	})
}
