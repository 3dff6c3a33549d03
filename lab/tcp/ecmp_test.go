package tcp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// A switch must assign each flow to one of two cables by a hash of its ports, for the whole life of
// the flow. Flows on the same cable share it, whatever the load of the other cable.
func TestFlowsCollide(t *testing.T) {
	e := net.NewEngine(1, nil)
	var rights, lefts ports
	q := net.Quality{Rate: 100 * mbit, Delay: ms, Queue: 100_000}
	leaf := e.NewSwitch("leaf", 7)
	cables := []*net.Link{e.NewLink("one", q, &rights), e.NewLink("two", q, &rights)}
	leaf.Route(right, cables[0], cables[1])
	back := e.NewLink("back", net.Quality{Delay: ms}, &lefts)

	// The flows first run one after another, which shows their cables. Then three flows run at the
	// same time, two of them on the same cable.
	var flows [2][]pair
	for port := uint16(1); len(flows[0]) < 2 || len(flows[1]) < 2; port++ {
		a, b := netip.AddrPortFrom(left, port), netip.AddrPortFrom(right, 80+port)
		v := pair{NewConn(e, known(Linux(), 2*ms), leaf, a, b), NewConn(e, known(Linux(), 2*ms), back, b, a)}
		lefts[a.Port()], rights[b.Port()] = v.from, v.to
		before := cables[0].Packets
		v.from.Write(100_000)
		e.Run(time.Second, nil)
		cable := 1
		if cables[0].Packets > before {
			cable = 0
		}
		flows[cable] = append(flows[cable], v)
	}
	alone, x, y := flows[0][0], flows[1][0], flows[1][1]
	begun := [3]int64{alone.to.in.next, x.to.in.next, y.to.in.next}
	for _, v := range []pair{alone, x, y} {
		v.from.Write(1 << 40)
	}
	e.Run(20*time.Second, nil)
	full := 20 * 100 * mbit * 1448 / wire
	within(t, "share of the flow that is alone", float64(alone.to.in.next-begun[0])/full, 0.95, 1.0001)
	within(t, "share of the first of two", float64(x.to.in.next-begun[1])/full, 0.35, 0.65)
	within(t, "share of both", float64(x.to.in.next-begun[1]+y.to.in.next-begun[2])/full, 0.95, 1.0001)
	if n := alone.to.Stats.Duplicates + x.to.Stats.Duplicates + y.to.Stats.Duplicates; n != 0 {
		t.Errorf("%d segments came twice though nothing was reordered", n)
	}
}
