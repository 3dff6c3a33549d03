package e2e

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// TestUploadBesideDownload sends a flow in each direction at the same time, through a tunnel over
// one link. The received flow may reduce the sent flow only a little, by the acknowledgements of
// TCP and of the tunnel.
func TestUploadBesideDownload(t *testing.T) {
	long(t)
	const mbit, settle, lasts = 50, 4 * time.Second, 10 * time.Second
	for name, delay := range map[string]int{"4ms": 2, "40ms": 20} {
		between(t, name, true, false, []linkemu.Impairment{uplink(delay, 0, 0, mbit)}, func(t *testing.T, f *fabric.Fabric, to netip.Addr) {
			down := flow(f, 1)
			down.To, down.For = to, lasts+time.Second
			up := meter.Flow{Client: f.B(1), Server: f.A(1), To: tunnel.Inner4(1), For: lasts}
			var rate [2]float64
			var runs [2]*meter.Run
			for i, fl := range []meter.Flow{down, up} {
				var err error
				if runs[i], err = meter.Start(fl); err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Second) // the upload starts when the download has filled its link
			}
			for i, r := range runs {
				must(t, r.Wait())
				rate[i] = r.Sum().Mean(settle, lasts) / 1e6
			}
			t.Logf("%s: %.1f Mbit/s down, %.1f up, of %d", name, rate[0], rate[1], mbit)
			if min(rate[0], rate[1]) < 0.5*mbit {
				t.Errorf("%s: %.1f Mbit/s down, %.1f up, want half of %d each at least", name, rate[0], rate[1], mbit)
			}
		})
	}
}
