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

// Settings of the check. It offers more than each limit, and looks at what arrives.
const (
	checkTime = time.Second
	checkPort = 5209
	checkSize = 1400
	// checkTuples share the checks of the whole host. Each stays below the limit of a tuple.
	checkTuples = 64
	// overhead is the size of the headers of a datagram on the cable.
	overhead = 42
	// Between least and most of a limit must arrive.
	least, most = 0.75, 1.1
)

// Check sends too much in four ways. The error names each limit that does not limit, or that
// lets too little pass. A limit that this machine cannot reach is not checked.
func (n *Network) Check() error {
	sink, err := n.B.ListenPacket("udp4", fmt.Sprintf(":%d", checkPort))
	if err != nil {
		return err
	}
	defer sink.Close()
	c := n.Caps
	return errors.Join(
		n.compare("bits of a tuple", 1e6*float64(c.TupleMbit), 8*(checkSize+overhead), func() (float64, error) {
			return n.blast(1, checkSize, 2e6*float64(c.TupleMbit)/8/(checkSize+overhead))
		}),
		n.compare("bits of the host", 1e6*float64(c.HostMbit), 8*(checkSize+overhead), func() (float64, error) {
			return n.blast(checkTuples, checkSize, 1.3e6*float64(c.HostMbit)/8/(checkSize+overhead))
		}),
		n.compare("packets of the host", float64(c.Packets), 1, func() (float64, error) {
			return n.blast(checkTuples, 1, 1.5*float64(c.Packets))
		}),
		// The bucket of new tuples holds a second's.
		n.compare("new tuples of the host", 2*float64(c.NewTuples), 1, func() (float64, error) { return n.open(6 * c.NewTuples) }),
	)
}

// compare calls offer, which sends for checkTime and returns the packets sent, and compares
// what arrives with a limit. Each packet counts for weight.
func (n *Network) compare(what string, limit, weight float64, offer func() (float64, error)) error {
	time.Sleep(checkTime) // buckets are full again
	before, err := n.arrived()
	if err != nil {
		return err
	}
	begun := time.Now()
	sent, err := offer()
	if err != nil {
		return err
	}
	took := time.Since(begun).Seconds() / checkTime.Seconds()
	time.Sleep(checkTime / 10)
	after, err := n.arrived()
	if err != nil {
		return err
	}
	return verdict(what, limit*max(1, took), weight*sent, weight*(after-before))
}

func verdict(what string, limit, offered, got float64) error {
	switch {
	case offered <= most*limit && got >= least*min(offered, limit):
		return nil // this machine cannot offer enough
	case got > most*limit:
		return fmt.Errorf("the limit does not limit: %s: %.3g arrive, with a limit of %.3g", what, got, limit)
	case got < least*limit:
		return fmt.Errorf("the limit is too tight: %s: %.3g of %.3g arrive, with a limit of %.3g", what, got, offered, limit)
	}
	return nil
}

// arrived returns the packets that B has received so far.
func (n *Network) arrived() (float64, error) {
	text, err := n.B.Run("cat", "/sys/class/net/eth0/statistics/rx_packets")
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(text), 64)
}

func (n *Network) target() netip.AddrPort { return netip.AddrPortFrom(n.B.Addr4(), checkPort) }

// blast sends datagrams of size bytes from that many ports, at a rate for all.
func (n *Network) blast(tuples, size int, rate float64) (float64, error) {
	sent, errs := make([]int, tuples), make([]error, tuples)
	var wg sync.WaitGroup
	for i := range tuples {
		wg.Go(func() {
			g := meter.Garbage{From: n.A, To: n.target(), Size: size, Rate: rate / float64(tuples), Fill: func([]byte, int) {}}
			sent[i], errs[i] = g.Send(checkTime)
		})
	}
	wg.Wait()
	total := 0.0
	for _, k := range sent {
		total += float64(k)
	}
	return total, errors.Join(errs...)
}

// open sends one datagram from each of count ports.
func (n *Network) open(count int) (float64, error) {
	err := n.A.Do(func() error {
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
			all = append(all, c) // closed, its port could be used again
			if _, err := c.Write([]byte{0}); err != nil {
				return err
			}
			time.Sleep(time.Until(begun.Add(checkTime * time.Duration(i+1) / time.Duration(count))))
		}
		return nil
	})
	return float64(count), err
}
