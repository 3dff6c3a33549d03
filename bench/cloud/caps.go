// Package cloud reproduces the rate limits of cloud instances in network namespaces, and generates
// traffic to measure under them. The traffic generator needs no other program, so it can put the
// same load on namespaces and on real cloud instances.
package cloud

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// Caps holds the rate limits of one instance, each for both directions.
type Caps struct {
	TupleMbit int // rate of each 5-tuple
	HostMbit  int // rate of a host's network card
	Packets   int // a second, of a host
	NewTuples int // a second, of a host
	// If Police is set, packets of a 5-tuple above its rate are dropped immediately. Otherwise they
	// are queued for up to tupleBurst, and only then dropped, as in EC2.
	Police bool
}

func (c Caps) String() string {
	how := fmt.Sprintf("queued for %v, then dropped", tupleBurst)
	if c.Police {
		how = "dropped"
	}
	return fmt.Sprintf("%d Mbit/s for each 5-tuple (more is %s), %d Mbit/s, %d packets/s and %d new tuples/s for the host, each way",
		c.TupleMbit, how, c.HostMbit, c.Packets, c.NewTuples)
}

const (
	// tupleBurst is the depth of a 5-tuple's token bucket, and the length of its queue, both as a
	// time at the 5-tuple's rate.
	tupleBurst = 10 * time.Millisecond
	// hostQueue is the length of a network card's queue, as a time at the card's rate. The card's
	// token bucket holds hostBurst bytes: a train of 64 KiB, and as much as the kernel's timer
	// needs at 2 Gbit/s.
	hostQueue = 20 * time.Millisecond
	hostBurst = 256 << 10
	// classes is the number of token buckets of a port. A hash of the 5-tuple selects the bucket.
	// With 63 5-tuples, on average one pair of them shares a bucket. Creating more buckets would
	// take too long.
	classes = 2048
	// fullFrame is the size in bytes of a packet of 1,500 bytes with its Ethernet header.
	fullFrame = 1514
)

// spares is the number of additional addresses of each host. MPTCP makes a subflow for each pair of
// addresses.
const spares = 3

// Network consists of two hosts and a switch that enforces the rate limits.
type Network struct {
	*fabric.Direct
	Caps Caps
}

// New builds a network with the given limits. After an error no part of the network remains.
func New(c Caps) (*Network, error) {
	d, err := fabric.NewDirect(fabric.DirectSpec{WireLike: true, Switch: true})
	if err != nil {
		return nil, err
	}
	n := &Network{d, c}
	for _, step := range []func() error{n.addAddresses, n.limitHosts, n.limitTuples} {
		if err := step(); err != nil {
			return nil, errors.Join(err, d.Close())
		}
	}
	return n, nil
}

func (n *Network) addAddresses() error {
	for _, h := range []*fabric.Host{n.A, n.B} {
		for range spares {
			last := h.V4[len(h.V4)-1].As4()
			last[3] += 10
			a := netip.AddrFrom4(last)
			if _, err := h.Run("ip", "addr", "add", netip.PrefixFrom(a, 24).String(), "dev", "eth0"); err != nil {
				return err
			}
			h.V4 = append(h.V4, a)
		}
	}
	return nil
}

// limitHosts limits the rate of each network card.
func (n *Network) limitHosts() error {
	for _, h := range []*fabric.Host{n.A, n.B} {
		if _, err := h.Run("tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", fmt.Sprintf("%dmbit", n.Caps.HostMbit),
			"burst", fmt.Sprint(hostBurst), "limit", fmt.Sprint(bytesOf(n.Caps.HostMbit, hostQueue))); err != nil {
			return err
		}
	}
	return nil
}

func bytesOf(mbit int, d time.Duration) int { return int(float64(mbit) * 1e6 / 8 * d.Seconds()) }

// limitTuples installs the switch's limits for 5-tuples. It sets each port down while it creates
// the port's tc classes, because on an active port this takes much longer.
func (n *Network) limitTuples() error {
	dir, err := fabric.Scratch()
	if err != nil {
		return err
	}
	run := func(tool, text string, args ...string) error {
		f, err := os.CreateTemp(dir, "cloud-*."+tool)
		if err != nil {
			return err
		}
		defer os.Remove(f.Name())
		if _, err := f.WriteString(text); err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
		_, err = n.Switch.Run(tool, append(args, f.Name())...)
		return err
	}
	if err := run("nft", n.Caps.rules(), "-f"); err != nil {
		return err
	}
	for _, port := range []string{fabric.SwitchToA, fabric.SwitchToB} {
		if _, err := n.Switch.Run("ip", "link", "set", port, "txqueuelen", fmt.Sprint(n.Caps.queue()), "down"); err != nil {
			return err
		}
		if err := run("tc", n.Caps.buckets(port), "-batch"); err != nil {
			return err
		}
		if _, err := n.Switch.Run("ip", "link", "set", port, "up"); err != nil {
			return err
		}
	}
	return nil
}

// queue returns how many packets may wait for a 5-tuple's bucket. A tc class inherits its queue
// length from the device.
func (c Caps) queue() int {
	if c.Police {
		return 1
	}
	return max(1, bytesOf(c.TupleMbit, tupleBurst)/fullFrame)
}

// rules returns the switch's nftables rules. They drop packets above the packet limit and above the
// limit of new 5-tuples, and select the token bucket of every other packet. nftables' own byte
// limit is not used, because it would admit the bytes of a whole second in one burst.
func (c Caps) rules() string {
	const tuple = "ip saddr . th sport . ip daddr . th dport"
	var b strings.Builder
	fmt.Fprintf(&b, `table bridge cloud {
	set seen { type ipv4_addr . inet_service . ipv4_addr . inet_service; flags dynamic; size 65535; timeout 60s; }
	chain forward {
		type filter hook forward priority 0;
		meta protocol != ip accept
		meta l4proto != { tcp, udp } accept
`)
	for _, port := range []string{fabric.SwitchToA, fabric.SwitchToB} {
		fmt.Fprintf(&b, "\t\toifname %s %s != @seen limit rate over %d/second burst %d packets drop\n", port, tuple, c.NewTuples, c.NewTuples)
	}
	fmt.Fprintf(&b, "\t\tupdate @seen { %s }\n", tuple)
	for _, port := range []string{fabric.SwitchToA, fabric.SwitchToB} {
		fmt.Fprintf(&b, "\t\toifname %s limit rate over %d/second burst %d packets drop\n", port, c.Packets, max(1, c.Packets/100))
	}
	// 0x10001 is the number of tc class 1:1.
	fmt.Fprintf(&b, "\t\tmeta priority set jhash %s mod %d seed 1 offset %d\n\t}\n}\n", tuple, classes, 0x10001)
	return b.String()
}

// buckets returns the tc commands that create the token buckets of a port.
func (c Caps) buckets(port string) string {
	var b strings.Builder
	burst := max(2*fullFrame, bytesOf(c.TupleMbit, tupleBurst))
	fmt.Fprintf(&b, "qdisc add dev %s root handle 1: htb\n", port)
	for i := 1; i <= classes; i++ {
		fmt.Fprintf(&b, "class add dev %s parent 1: classid 1:%x htb rate %dmbit burst %d cburst %d quantum %d\n", port, i, c.TupleMbit, burst, burst, 2*fullFrame)
	}
	return b.String()
}
