package lab

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/srdtun/srdtun/lab/workload"
	"github.com/srdtun/srdtun/sim/net"
)

// data reads a file by its name in a plan in plans/.
func data(name string) ([]byte, error) { return os.ReadFile(filepath.Join("plans", name)) }

func topology(t testing.TB, name string) *workload.Topology {
	t.Helper()
	b, err := data("../testdata/" + name)
	must(t, err)
	top, err := workload.ParseTopology(name, string(b))
	must(t, err)
	return top
}

var topologies = []string{"ls32.topo", "fat_tree_128_1os.topo", "fat_tree_32_1os_2t_400g.topo"}

// sink counts received packets.
type sink struct {
	e  *net.Engine
	n  int
	at time.Duration
}

func (s *sink) Receive(p *net.Packet) {
	s.n++
	s.at = s.e.Since()
	s.e.Free(p)
}

// send sends a packet of 1000 bytes from a port of one host to another host.
func send(n *Network, src, dst int, port uint16) {
	p := n.Engine.NewPacket()
	p.Fill(zeros[:972])
	p.Datagram(netip.AddrPortFrom(n.Hosts[src].Addr, port), netip.AddrPortFrom(n.Hosts[dst].Addr, 7))
	n.Hosts[src].Send(p)
}

// A packet from every host to every other arrives after the time that Path returns.
func TestEveryHostReachesEveryOther(t *testing.T) {
	for _, name := range topologies {
		n := NewNetwork(net.NewEngine(1, nil), topology(t, name), Ports{Queue: 1 << 20})
		for dst, h := range n.Hosts {
			s := &sink{e: n.Engine}
			h.Bind(net.ProtoUDP, 7, s)
			for src := range n.Hosts {
				if src == dst {
					continue
				}
				begin := n.Engine.Since()
				send(n, src, dst, uint16(src))
				n.Engine.Run(time.Millisecond, nil)
				want, _ := n.Path(src, dst, 1038) // with framing
				if got := s.at - begin; got < want-10 || got > want+10 {
					t.Fatalf("%s: %d to %d took %v, want %v", name, src, dst, got, want)
				}
			}
			if s.n != len(n.Hosts)-1 {
				t.Errorf("%s: host %d got %d packets of %d", name, dst, s.n, len(n.Hosts)-1)
			}
		}
	}
}

// The source port determines the path. Packets with many ports use all cables to the destination
// about evenly, and packets with one port use one cable.
func TestPortsChooseAmongAllCables(t *testing.T) {
	const ports = 4096
	for _, name := range topologies {
		n := NewNetwork(net.NewEngine(1, nil), topology(t, name), Ports{Queue: 1 << 30})
		last := len(n.Hosts) - 1
		n.Hosts[last].Bind(net.ProtoUDP, 7, &sink{e: n.Engine})
		for i := range ports {
			send(n, 0, last, uint16(i))
		}
		n.Engine.Run(time.Second, nil)
		for tier := 1; tier < len(n.Cables); tier++ {
			used := 0
			for _, c := range n.Cables[tier] {
				if c.Up.Packets > 0 {
					used++
				}
			}
			want := 1
			for i := range tier {
				want *= n.Topology.Tiers[i].Up
			}
			if used != want {
				t.Errorf("%s: %d cables up to tier %d are used, want %d", name, used, tier, want)
			}
			for i, c := range n.Cables[tier] {
				// Three standard deviations of the binomial distribution are well below a third of
				// the mean.
				if even := ports / want; c.Up.Packets > 0 && (int(c.Up.Packets) < even*2/3 || int(c.Up.Packets) > even*4/3) {
					t.Errorf("%s: cable %d of tier %d got %d packets, an even share is %d", name, i, tier, c.Up.Packets, even)
				}
			}
		}
		before := n.Cables[0][0].Up.Packets
		for range 10 {
			send(n, 0, last, 5)
		}
		if got := n.Cables[0][0].Up.Packets - before; got != 10 {
			t.Errorf("%s: %d of 10 packets left", name, got)
		}
	}
}

// Sending a packet over a link allocates nothing, neither for the packet nor for its event.
func TestPacketsDoNotAllocate(t *testing.T) {
	n := NewNetwork(net.NewEngine(1, nil), topology(t, "fat_tree_128_1os.topo"), Ports{Queue: 1 << 30})
	n.Hosts[100].Bind(net.ProtoUDP, 7, &sink{e: n.Engine})
	some := func() {
		for i := range 64 {
			send(n, 3, 100, uint16(i))
		}
		n.Engine.Run(time.Millisecond, nil)
	}
	some()
	if a := testing.AllocsPerRun(50, some); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

// BenchmarkNetwork sends packets over the six hops of a fat tree.
func BenchmarkNetwork(b *testing.B) {
	n := NewNetwork(net.NewEngine(1, nil), topology(b, "fat_tree_128_1os.topo"), Ports{Queue: 1 << 30})
	n.Hosts[100].Bind(net.ProtoUDP, 7, &sink{e: n.Engine})
	b.ReportAllocs()
	for i := range b.N {
		send(n, i%64, 100, uint16(i))
		if i%64 == 63 {
			n.Engine.Run(100*time.Microsecond, nil)
		}
	}
}
