package lab

import (
	"fmt"
	"strings"
	"testing"
)

// edgeNetwork has tunnels between the leaves of ls32.topo. The servers use TCP.
const edgeNetwork = `
[network]
topology = "../testdata/ls32.topo"
queue = 400_000
[transport.edge]
kind = "edge"
ports = 16
mtu = 9000
granularity = "1us"
`

// edgeFlows are flows between two leaves in both directions, and between two servers of one leaf.
const edgeFlows = `
[[case]]
name = "edge"
transport = "edge"
[[case.flow]]
src = 1
dst = 17
size = 3_000_000
[[case.flow]]
src = 18
dst = 2
size = 3_000_000
[[case.flow]]
src = 3
dst = 4
size = 3_000_000
`

// Flows through tunnels between leaves complete in little more than their ideal time. So do flows
// between servers of one leaf, which do not use a tunnel.
func TestEdge(t *testing.T) {
	r := one(t, head+edgeNetwork+edgeFlows)
	for _, f := range r.Flows {
		if f.Delivered != f.Size || f.FCT < f.Ideal || f.FCT > 2*f.Ideal {
			t.Errorf("%+v", f)
		}
	}
	s := r.Stats["edge"]
	if s.Retransmitted != 0 || s.Order == nil || s.Order.TimedOut != 0 {
		t.Errorf("%+v, order %+v", s, s.Order)
	}
	// Two flows have segments of some 8,848 bytes, and acknowledgements.
	if least := uint64(2 * 3_000_000 / 8_848); s.Order.Delivered < least || s.Order.Delivered > 3*least {
		t.Errorf("%d inner packets, want %d and acknowledgements", s.Order.Delivered, least)
	}
	// The same flows also complete with a cable out of service.
	r = one(t, head+edgeNetwork+edgeFlows+"[[case.fault]]\nkind = \"cut\"\ntier = 1\ncables = [3]\n")
	for _, f := range r.Flows {
		if f.Delivered != f.Size {
			t.Errorf("with a cable cut: %+v", f)
		}
	}
}

// Only leaf switches can have hosts of their own.
func TestEdgeNeedsLeaves(t *testing.T) {
	text := strings.Replace(head+edgeNetwork+edgeFlows, "ls32.topo", "rack8x1.topo", 1) +
		"[[case.uplink]]\nmbit = 100\n"
	p := plan(t, strings.Replace(text, "topology = \"../testdata/rack8x1.topo\"\n", "", 1))
	if _, err := Run(p, &p.Cases[0], Ideal, 1, nil); err == nil {
		t.Error("tunnels between leaves of a network without any")
	}
}

// unevenFlow is one TCP flow in a tunnel that sprays trains over all paths. One path has a fifth of
// the rate of the others.
const unevenFlow = `
[transport.tunnel]
kind = "tunnel"
ports = 16
mtu = 9000
granularity = "1us"
policy = "letflow"
flowlet_timeout = "1ns"
unordered = false
[[case]]
name = "uneven"
transport = "tunnel"
[[case.flow]]
src = 1
dst = 17
size = 10_000_000
[[case.fault]]
kind = "rate"
tier = 1
cables = [0, 1]
value = 0.2
`

// The reassembler counts the packets that it holds. If the order is not restored, it holds none,
// and TCP sees the reordering.
func TestOrderIsCounted(t *testing.T) {
	ordered := one(t, head+network+unevenFlow)
	bare := one(t, head+network+strings.Replace(unevenFlow, "unordered = false", "unordered = true", 1))
	a, b := ordered.Stats["tunnel"].Order, bare.Stats["tunnel"].Order
	if a.Held == 0 || a.MostHeld == 0 || a.MostBytes < 8_000 || a.Longest <= 0 || a.Delivered < 10_000_000/9_000 {
		t.Errorf("ordered: %+v", a)
	}
	if b.Held != 0 || b.MostHeld != 0 {
		t.Errorf("unordered: %+v", b)
	}
	for _, r := range []*Result{ordered, bare} {
		if f := r.Flows[0]; f.Delivered != f.Size {
			t.Errorf("%+v", f)
		}
	}
}

// TCP inside tunnels has counters of its own. They include the drops at a server's link after the
// tunnel, and at the ingress queue before it. Each dropped packet is retransmitted.
func TestInnerIsCounted(t *testing.T) {
	if n := one(t, head+edgeNetwork+edgeFlows).Stats["edge"].Inner; n == nil || *n != (InnerStats{}) {
		t.Errorf("of flows that nothing stood in the way of: %+v", n)
	}
	// Four servers send to one server, whose port has a queue of 400 KB.
	incast := "[[case]]\nname = \"edge\"\ntransport = \"edge\"\n"
	for i := range 4 {
		incast += fmt.Sprintf("[[case.flow]]\nsrc = %d\ndst = 17\nsize = 3_000_000\n", i)
	}
	n := one(t, head+edgeNetwork+incast).Stats["edge"].Inner
	if n.Dropped == 0 || n.Queue != 0 || n.Retransmitted < n.Dropped {
		t.Errorf("at a server's port: %+v", n)
	}
	// Sixteen servers send over cables with a five-thousandth of their usual rate, so that the
	// delay exceeds CoDel's target for longer than CoDel's interval.
	slow := "[[case]]\nname = \"edge\"\ntransport = \"edge\"\n"
	for i := range 16 {
		slow += fmt.Sprintf("[[case.flow]]\nsrc = %d\ndst = %d\nsize = 3_000_000\n", i, 16+i)
	}
	slow += "[[case.fault]]\nkind = \"rate\"\ntier = 1\ncables = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]\nvalue = 0.0002\n"
	n = one(t, head+edgeNetwork+slow).Stats["edge"].Inner
	if n.Dropped != 0 || n.Queue == 0 || n.Retransmitted < n.Queue {
		t.Errorf("in front of a slow network: %+v", n)
	}
}
