package regress

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/lab/stat"
)

var (
	idleP50 = figure{name: "idle request, p50", unit: "us", lower: true}
	idleP99 = figure{name: "idle request, p99", unit: "us", lower: true}
	idleCPU = figure{name: "idle request, CPU of both daemons", unit: "us", lower: true}
	loadP50 = figure{name: "request beside a full flow, p50", unit: "us", lower: true}
	loadP99 = figure{name: "request beside a full flow, p99", unit: "us", lower: true}
)

const (
	askFirst = 50 * time.Millisecond // time until the threads' caches are warm again
	askTime  = 300 * time.Millisecond
	loadTime = 700 * time.Millisecond
	// loadFirst is how long the bulk flow runs before requests are measured, so that its slow start
	// has ended.
	loadFirst = 300 * time.Millisecond
)

var asking = scene{
	name: "requests", says: "64 bytes there and back over one veth, idle and beside a full flow", quick: true,
	figures: []figure{idleP50, idleP99, idleCPU, loadP50, loadP99}, rounds: 6,
	stand: func(r *run) (func() error, error) {
		d, p, err := r.tunnelledVeth()
		if err != nil {
			return nil, err
		}
		q, err := r.dialogue(d.A, d.B, tunnel.Inner4(2))
		if err != nil {
			return nil, err
		}
		return func() error {
			if err := r.idleRequests(p, q); err != nil {
				return err
			}
			return r.besideLoad(d.A, d.B, q)
		}, nil
	},
}

func (r *run) idleRequests(p *tunnel.Pair, q *dialogue) error {
	if _, err := q.ask(askFirst); err != nil {
		return err
	}
	before, err := ran(p)
	if err != nil {
		return err
	}
	us, err := q.ask(askTime)
	if err != nil {
		return err
	}
	after, err := ran(p)
	if err != nil {
		return err
	}
	r.set(idleCPU, (after-before)/float64(len(us)))
	r.set(idleP50, stat.Quantile(us, 0.5))
	r.set(idleP99, stat.Quantile(us, 0.99))
	return nil
}

// besideLoad measures requests while a bulk flow fills the link.
func (r *run) besideLoad(a, b *fabric.Host, q *dialogue) error {
	ended := make(chan error, 1)
	go func() {
		_, err := sendAll([]*fabric.Host{a}, b, netip.AddrPortFrom(tunnel.Inner4(2), ratePort), 1, loadFirst+loadTime)
		ended <- err
	}()
	time.Sleep(loadFirst)
	us, err := q.ask(loadTime - 50*time.Millisecond)
	if e := <-ended; e != nil {
		return fmt.Errorf("the flow: %w", e)
	}
	r.set(loadP50, stat.Quantile(us, 0.5))
	r.set(loadP99, stat.Quantile(us, 0.99))
	return err
}
