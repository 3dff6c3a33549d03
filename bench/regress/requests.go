package regress

import (
	"time"

	"github.com/srdtun/srdtun/bench/sockperf"
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

const askTime = 2 * time.Second

var asking = scene{
	name: "requests", says: "64 bytes there and back over one veth, idle and beside a full flow", quick: true,
	figures: []figure{idleP50, idleP99, loadP50, loadP99},
	measure: func(r *run) error {
		d, err := r.tunnelledVeth()
		if err != nil {
			return err
		}
		p, err := sockperf.Requests(d.B, d.A, tunnel.Inner4(2), askTime)
		if err != nil {
			return err
		}
		r.set(idleP50, p.P50)
		r.set(idleP99, p.P99)
		return besideLoad(r, d.A, d.B)
	},
}

// besideLoad measures requests while a bulk flow takes all available bandwidth.
func besideLoad(r *run, a, b *fabric.Host) error {
	load, err := meter.Start(meter.Flow{Server: b, Client: a, To: tunnel.Inner4(2), For: time.Minute})
	if err != nil {
		return err
	}
	defer load.Stop()
	time.Sleep(500 * time.Millisecond) // past slow start
	p, err := sockperf.Requests(b, a, tunnel.Inner4(2), askTime)
	if err != nil {
		return err
	}
	r.set(loadP50, p.P50)
	r.set(loadP99, p.P99)
	return nil
}
