package regress

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// beside measures how TCP through the tunnel shares one link with plain CUBIC TCP. The scene's
// result is the fairness of the two shares of the link. Fairness is 1 if both sides get the same
// rate, and less if either side gets more.
type beside struct {
	flows        int // number of flows of each group
	fair, inside figure
}

func besides(buffer string) (v []beside) {
	for _, n := range []int{1, 4} {
		name := fmt.Sprintf("beside CUBIC %d:%d, %s", n, n, buffer)
		v = append(v, beside{n, figure{name: name, unit: "of fair"}, figure{name: name + ", inside", unit: "Mbit/s"}})
	}
	return v
}

const (
	besideMbit   = 100
	plainPort    = "5302"
	kiB          = 1 << 10
	besideShort  = 12 * time.Second
	besideSettle = 4 * time.Second
	// The measurement is long, because with round trips of 200 ms the period between two reductions
	// of CUBIC's window is many seconds long.
	besideLong       = 40 * time.Second
	besideLongSettle = 15 * time.Second
)

var (
	beside20  = besideScene("beside20", "20 ms of buffer", "20 ms", 256*kiB, besideSettle, besideShort)
	beside200 = besideScene("beside200", "200 ms of buffer", "200 ms", 2500*kiB, besideLongSettle, besideLong)
)

func besideScene(name, says, buffer string, limit int, settle, lasts time.Duration) scene {
	all := besides(buffer)
	var figures []figure
	for _, b := range all {
		figures = append(figures, b.fair, b.inside)
	}
	return scene{
		name: name, says: "beside the kernel's CUBIC on a link of 100 Mbit/s with " + says, figures: figures,
		measure: func(r *run) error {
			f, err := r.tunnelled(fabric.Spec{Spines: 1, RateMbit: besideMbit, LimitBytes: limit})
			if err != nil {
				return err
			}
			for _, b := range all {
				inside, plain, err := together(f, b.flows, settle, lasts)
				if err != nil {
					return err
				}
				r.set(b.fair, closeness(inside, plain))
				r.set(b.inside, inside/1e6)
			}
			return nil
		},
	}
}

// together runs n flows through the tunnel and n plain flows outside the tunnel at the same time,
// and returns the rates of both groups.
func together(f *fabric.Fabric, n int, settle, lasts time.Duration) (inside, plain float64, err error) {
	flow := meter.Flow{Server: f.B(1), Client: f.A(1), Streams: n, For: lasts}
	flow.To = tunnel.Inner4(2)
	a, err := meter.Start(flow)
	if err != nil {
		return 0, 0, err
	}
	defer a.Stop()
	flow.To, flow.Port = f.B(1).Addr4(), plainPort
	b, err := meter.Start(flow)
	if err != nil {
		return 0, 0, err
	}
	defer b.Stop()
	for _, x := range []*meter.Run{a, b} {
		if err := x.Wait(); err != nil {
			return 0, 0, err
		}
	}
	return a.Sum().Mean(settle, lasts), b.Sum().Mean(settle, lasts), nil
}

// closeness returns the smaller of two rates divided by their mean, which would be the fair rate.
func closeness(a, b float64) float64 {
	if a+b == 0 {
		return 0
	}
	return min(a, b) / ((a + b) / 2)
}
