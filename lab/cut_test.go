package lab

import (
	"fmt"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/sim/net"
)

// If a cable is out of service, every host still reaches every other host with every port, and no
// packet uses the cable. Either another cable leads to the same spine (conga64), or all leaves
// avoid that spine (letflow384).
func TestCut(t *testing.T) {
	for _, name := range []string{"conga64.topo", "letflow384.topo", "letflow48.topo"} {
		n := NewNetwork(net.NewEngine(1, nil), topology(t, name), Ports{Queue: 1 << 20})
		const cable = 1
		must(t, n.Cut(cable))
		const ports, hosts = 64, 16
		step, sent := len(n.Hosts)/hosts, 0
		sinks := make([]*sink, hosts)
		for i := range sinks {
			sinks[i] = &sink{e: n.Engine}
			n.Hosts[i*step].Bind(net.ProtoUDP, 7, sinks[i])
		}
		for src := range hosts {
			for dst := range hosts {
				for p := range ports {
					if src != dst {
						n.Engine.Run(1e5, nil)
						send(n, src*step, dst*step, uint16(1000+p))
						sent++
					}
				}
			}
		}
		n.Engine.Run(1e9, nil)
		got := 0
		for _, s := range sinks {
			got += s.n
		}
		if got != sent {
			t.Errorf("%s: %d of %d packets arrived", name, got, sent)
		}
		for i, c := range n.Cables[1] {
			if used := c.Up.Packets > 0 && c.Down.Packets > 0; used == (i == cable) {
				t.Errorf("%s: cable %d carried %d packets up and %d down", name, i, c.Up.Packets, c.Down.Packets)
			}
		}
	}
}

func TestCutErrors(t *testing.T) {
	for _, f := range []string{"tier = 0\ncables = [0]", "tier = 1\ncables = [600]", "tier = 1\ncables = [0]\nat = \"1ms\""} {
		p := plan(t, head+network+lone+"[[case.fault]]\nkind = \"cut\"\n"+f)
		if _, err := Run(p, &p.Cases[0], Ideal, 1, nil); err == nil {
			t.Errorf("%q is taken", f)
		}
	}
}

const tunnels = `
[transport.tunnel]
kind = "tunnel"
ports = 16
mtu = 9000
granularity = "1us"
policy = "%s"
`

// TCP flows in a tunnel complete with any policy. On an empty network, a single flow loses no
// packets, and is little slower than without a tunnel.
func TestTunnel(t *testing.T) {
	for _, policy := range []string{"spray", "conga", "letflow"} {
		text := head + network + fmt.Sprintf(tunnels, policy) + strings.Replace(lone, `"srd"`, `"tunnel"`, 1)
		if f := one(t, text).Flows[0]; f.Delivered != f.Size || f.FCT < f.Ideal || f.FCT > 3*f.Ideal {
			t.Errorf("%s: %+v", policy, f)
		}
		for _, f := range one(t, text+"count = 8\n[[case.flow]]\nsrc = 17\ndst = 1\nsize = 500_000\ncount = 8\n").Flows {
			if f.Delivered != f.Size {
				t.Errorf("%s: %+v", policy, f)
			}
		}
	}
}

// A receiver reads the loads that links write into packets. They affect the choices of the policy
// conga, and nothing else.
func TestTell(t *testing.T) {
	text := head + network + strings.Replace(fmt.Sprintf(tunnels, "conga"), `"tunnel"`, `"srd"`, 1) +
		strings.Replace(lone, `"srd"`, `"tunnel"`, 1) + "count = 8\nevery = \"20us\"\n" +
		// These flows load some links. The acknowledgements of the first flows carry no information
		// about that load.
		"[[case.flow]]\nsrc = 2\ndst = 18\nsize = 1_000_000\ncount = 8\nevery = \"20us\"\ntransport = \"tunnel\"\n"
	plain, told := one(t, text), one(t, strings.Replace(text, "queue = 400_000", "queue = 400_000\ntell = true", 1))
	if plain.Hash == told.Hash {
		t.Error("loads that links write make no difference")
	}
	for _, f := range told.Flows {
		if f.Delivered != f.Size {
			t.Errorf("%+v", f)
		}
	}
}
