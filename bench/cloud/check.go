package cloud

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/meter"
)

// The check offers more traffic than each limit allows, and counts the packets that arrive.
const (
	checkTime = time.Second
	checkPort = 5209
	checkSize = 1400
	// checkTuples is the number of 5-tuples in the checks of the host's packet and bit limits.
	checkTuples = 64
	// mostPackets bounds the offered packets per second, so that a slow machine can send them too.
	// A limit above mostPackets is not checked.
	mostPackets = 100_000
	// overhead is the size in bytes of a datagram's headers on the wire.
	overhead = 42
	// most is the largest ratio of arrived traffic to a limit at which the limit counts as holding.
	most = 1.1
)

// Check offers more traffic than allowed, in four ways. The returned error names each limit that
// does not hold.
func (n *Network) Check() error {
	sink, err := n.B.ListenPacket("udp4", fmt.Sprintf(":%d", checkPort))
	if err != nil {
		return err
	}
	defer sink.Close()
	c := n.Caps
	return errors.Join(
		n.compare("bits of the host", "rx_bytes", 1e6*float64(c.HostMbit), 8, n.fillHost),
		n.compare("bits of a tuple", "rx_bytes", 1e6*float64(c.TupleMbit), 8, func() error {
			return n.blast(1, checkSize, 2e6*float64(c.TupleMbit)/8/(checkSize+overhead))
		}),
		n.compare("packets of the host", "rx_packets", float64(c.Packets), 1, func() error {
			if c.Packets > mostPackets {
				return nil
			}
			return n.blast(checkTuples, 1, 1.5*float64(c.Packets))
		}),
		// The factor is 2, because the token bucket of new 5-tuples also holds the tokens of one
		// second.
		n.compare("new tuples of the host", "rx_packets", 2*float64(c.NewTuples), 1, func() error { return n.open(6 * c.NewTuples) }),
	)
}

// fillHost sends over many TCP connections, which adapt to the speed of this machine. Without the
// limit, all connections together would exceed it.
func (n *Network) fillHost() error {
	l, err := n.B.Listen("tcp", fmt.Sprintf(":%d", checkPort))
	if err != nil {
		return err
	}
	defer l.Close()
	go func() { _ = Serve(l) }()
	dial := func() (net.Conn, error) { return n.A.Dial("tcp", n.target().String(), patience) }
	_, err = Bulk(dial, min(checkTuples, n.Caps.NewTuples), 2*checkTime)
	return err
}

// compare calls the function offer(), which sends for checkTime or longer, and compares the
// arrived traffic with a limit per second. The number of arrived packets or bytes is multiplied
// by `weight`.
func (n *Network) compare(what, counter string, limit, weight float64, offer func() error) error {
	time.Sleep(checkTime) // the token buckets fill up again
	before, err := n.arrived(counter)
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := offer(); err != nil {
		return err
	}
	took := time.Since(begun).Seconds()
	time.Sleep(checkTime / 10)
	after, err := n.arrived(counter)
	if err != nil {
		return err
	}
	return verdict(what, limit*max(1, took), weight*(after-before))
}

func verdict(what string, limit, got float64) error {
	if got > most*limit {
		return fmt.Errorf("the limit does not limit: %s: %.3g arrive, with a limit of %.3g", what, got, limit)
	}
	return nil
}

// arrived returns a counter of host B's network card.
func (n *Network) arrived(counter string) (float64, error) {
	text, err := n.B.Run("cat", "/sys/class/net/eth0/statistics/"+counter)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(text), 64)
}

func (n *Network) target() netip.AddrPort { return netip.AddrPortFrom(n.B.Addr4(), checkPort) }

// blast sends datagrams of `size` bytes from the given number of ports, at a common rate.
func (n *Network) blast(tuples, size int, rate float64) error {
	errs := make([]error, tuples)
	var wg sync.WaitGroup
	for i := range tuples {
		wg.Go(func() {
			g := meter.Garbage{From: n.A, To: n.target(), Size: size, Rate: rate / float64(tuples), Fill: func([]byte, int) {}}
			_, errs[i] = g.Send(checkTime)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// open sends one datagram from each of `count` source ports.
func (n *Network) open(count int) error {
	return n.A.Do(func() error {
		var all []net.Conn
		defer func() {
			for _, c := range all {
				c.Close()
			}
		}()
		begun := time.Now()
		for i := range count {
			c, err := net.Dial("udp4", n.target().String())
			if err != nil {
				return err
			}
			all = append(all, c) // if it were closed, its port could be used again
			if _, err := c.Write([]byte{0}); err != nil {
				return err
			}
			time.Sleep(time.Until(begun.Add(checkTime * time.Duration(i+1) / time.Duration(count))))
		}
		return nil
	})
}
