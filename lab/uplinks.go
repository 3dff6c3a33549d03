package lab

import (
	"cmp"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// UplinkPlan describes one of several paths between two hosts.
type UplinkPlan struct {
	Mbit   float64  `toml:"mbit"`   // Mbit/s, including Ethernet's framing
	Delay  Duration `toml:"delay"`  // one way
	Jitter Duration `toml:"jitter"` // standard deviation of the delay; packets keep their order
	Loss   float64  `toml:"loss"`   // probability that a packet is lost
	// Reorder is the probability that a packet is delayed, by up to Held, while later packets
	// overtake it.
	Reorder float64  `toml:"reorder"`
	Held    Duration `toml:"held"`
	// Police is the rate of a policer for IP packets, in Mbit/s. The policer drops packets above
	// the rate Police, except for a burst of Credit bytes.
	Police float64 `toml:"police"`
	Credit int     `toml:"credit"`
	// Back is the rate from host 1 to host 0 in Mbit/s, if it differs.
	Back float64 `toml:"back"`
	// Queue is the queue size of this path in bytes, in each direction, or 0 for the network's
	// value.
	Queue int `toml:"queue"`
	// MTU is the size in bytes of the largest IP packet that passes, and 0 means no limit.
	MTU int `toml:"mtu"`
}

// AddressPlan assigns several addresses to each of two hosts. With several addresses, the address
// instead of the port selects the uplink.
type AddressPlan struct {
	From int `toml:"from"` // number of addresses of host 0
	To   int `toml:"to"`   // number of addresses of host 1
	// If Own is set, each address of host 0 belongs to the uplink with the same number, as on a
	// host with several interfaces. Otherwise, switches select the uplink by a hash of the
	// five-tuple, as with ECMP.
	Own bool `toml:"own"`
}

// of returns the number of addresses of the given host.
func (a *AddressPlan) of(host int) int {
	if host == 0 {
		return max(1, a.From)
	}
	return max(1, a.To)
}

// hostRate is the rate of the cable between a host and its uplinks, in bytes per second. The rate
// hostRate is higher than the rate of any uplink.
const hostRate = 10e9 / 8

// NewUplinks connects two hosts by paths that share no link. A packet's UDP or TCP ports select the
// path, and both directions use the same path. Because ports select paths, each uplink acts as if
// it had its own address. Ports are distributed evenly over the uplinks.
func NewUplinks(e *net.Engine, plans []UplinkPlan, a AddressPlan, p Ports) *Network {
	n := &Network{Engine: e, ports: p, uplinks: plans, addresses: a, Cables: make([][]*Cable, 1)}
	fan := net.Quality{Rate: hostRate, Queue: nicQueue}
	if a.hashed() {
		n.salt = e.Fork().Uint64()
	}
	for i := range 2 {
		h := newHost(e, i, address(i))
		for k := 1; k < a.of(i); k++ {
			h.More = append(h.More, further(h.Addr, k))
		}
		h.Up = e.NewLink(fmt.Sprintf("h%d>", i), fan, &fork{network: n, from: i})
		n.Hosts = append(n.Hosts, h)
	}
	for i, u := range plans {
		q := net.Quality{
			Rate: u.Mbit * 1e6 / 8, Delay: u.Delay.Duration, Jitter: u.Jitter.Duration, Loss: u.Loss,
			Reorder: u.Reorder, HoldMost: u.Held.Duration,
			Queue: cmp.Or(u.Queue, p.Queue), Mark: p.Mark, MTU: u.MTU,
			Policer: net.Policer{Police: u.Police * 1e6 / 8, Credit: u.Credit},
		}
		back := q
		back.Rate = cmp.Or(u.Back, u.Mbit) * 1e6 / 8
		n.Cables[0] = append(n.Cables[0], &Cable{
			Up:   e.NewLink(fmt.Sprintf("t%d>", i), q, n.Hosts[1]),
			Down: e.NewLink(fmt.Sprintf("t%d<", i), back, n.Hosts[0]),
		})
	}
	return n
}

// fork distributes a host's outgoing packets over the uplinks.
type fork struct {
	network *Network
	from    int // host
}

// Receive implements net.Node.
func (f *fork) Receive(p *net.Packet) {
	cables := f.network.Cables[0]
	c := cables[f.network.uplinkOf(p, f.from)%len(cables)]
	if f.from == 0 {
		c.Up.Receive(p)
		return
	}
	c.Down.Receive(p)
}

// uplinkOf returns the number of a packet's uplink, which the caller reduces modulo the number of
// uplinks.
func (n *Network) uplinkOf(p *net.Packet, from int) int {
	here := p.Src
	if from != 0 {
		here = p.Dst
	}
	switch a := &n.addresses; {
	case a.Own:
		return n.Hosts[0].number(here.Addr())
	case a.hashed():
		return int(p.Hash(n.salt) % uint64(len(n.uplinks)))
	}
	return int(p.Src.Port()) + int(p.Dst.Port())
}

// hashed reports whether a hash of the five-tuple selects the uplink.
func (a *AddressPlan) hashed() bool { return !a.Own && max(a.From, a.To) > 1 }

// nearest returns the delay of a packet of `size` bytes over the shortest uplink, and the total
// rate of all uplinks.
func (n *Network) nearest(size int) (delay time.Duration, rate float64) {
	for i, u := range n.uplinks {
		r := u.Mbit * 1e6 / 8
		d := u.Delay.Duration + time.Duration(float64(size)*(1/r+1/hostRate)*1e9)
		if i == 0 || d < delay {
			delay = d
		}
		rate += r
	}
	return delay, rate
}

func (u *UplinkPlan) check() error {
	if u.Mbit <= 0 || u.Delay.Duration < 0 || u.Jitter.Duration < 0 || u.Loss < 0 || u.Loss >= 1 {
		return fmt.Errorf("uplink of %v Mbit/s, delay %v, jitter %v, loss %v", u.Mbit, u.Delay, u.Jitter, u.Loss)
	}
	if u.Reorder < 0 || u.Reorder > 1 || u.Held.Duration < 0 || u.Reorder > 0 && u.Held.Duration == 0 {
		return fmt.Errorf("uplink that holds %v of its packets for %v", u.Reorder, u.Held)
	}
	if u.Back < 0 || u.Queue < 0 || u.MTU < 0 || u.MTU > 0 && u.MTU < leastMTU {
		return fmt.Errorf("uplink of %v Mbit/s back, queue %d, mtu %d", u.Back, u.Queue, u.MTU)
	}
	if u.Police < 0 || u.Police > 0 && u.Credit < idealPacket {
		return fmt.Errorf("uplink with a policer of %v Mbit/s and %d bytes of credit", u.Police, u.Credit)
	}
	return nil
}
