package regress

import (
	"errors"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
)

// arrived holds the received bytes of simultaneous TCP flows.
type arrived struct {
	bytes, least float64 // bytes of all connections, and of the slowest one
	cpu          float64 // processor time of the machine in seconds
	during       time.Duration
}

func (a arrived) mbps() float64     { return a.bytes * 8 / 1e6 / a.during.Seconds() }
func (a arrived) cpuPerGB() float64 { return a.cpu / max(a.bytes/1e9, 1e-9) }

// sendAll lets each host open n connections to the hub at the same time, and send as fast as
// possible. Bytes are counted from the start of the connections.
func sendAll(hosts []*fabric.Host, hub *fabric.Host, to netip.AddrPort, n int, during time.Duration) (a arrived, err error) {
	l, err := hub.Listen("tcp4", to.String())
	if err != nil {
		return a, err
	}
	defer l.Close()
	got := &counts{}
	go got.accept(l)
	before, err := meter.ReadCPU()
	if err != nil {
		return a, err
	}
	over := time.Now().Add(during)
	var all sync.WaitGroup
	errs := make([]error, len(hosts)*n)
	for i := range errs {
		all.Go(func() { errs[i] = sendUntil(hosts[i%len(hosts)], l.Addr().String(), over) })
	}
	time.Sleep(time.Until(over))
	after, cpuErr := meter.ReadCPU()
	a.bytes, a.least = got.tally(len(errs))
	a.cpu, a.during = after.Since(before).Busy, during
	all.Wait()
	return a, errors.Join(append(errs, cpuErr)...)
}

// counts holds the number of bytes that have arrived on each connection.
type counts struct {
	mu  sync.Mutex
	all []*atomic.Int64
}

func (c *counts) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		n := new(atomic.Int64)
		c.mu.Lock()
		c.all = append(c.all, n)
		c.mu.Unlock()
		go take(conn, n)
	}
}

// tally returns the sum over n connections and the smallest count, which is 0 if a connection is
// missing.
func (c *counts) tally(n int) (sum, least float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var v []float64
	for _, b := range c.all {
		v = append(v, float64(b.Load()))
		sum += v[len(v)-1]
	}
	if len(v) < n {
		return sum, 0
	}
	return sum, slices.Min(v)
}

// flowBlock is the size in bytes of one read or write.
const flowBlock = 64 << 10

func take(c net.Conn, n *atomic.Int64) {
	defer c.Close()
	for b := make([]byte, flowBlock); ; {
		k, err := c.Read(b)
		n.Add(int64(k))
		if err != nil {
			return
		}
	}
}

// sendUntil sends as fast as possible until a deadline. If a host has no connection by the
// deadline, it has sent nothing. This is a result, not an error.
func sendUntil(h *fabric.Host, to string, over time.Time) error {
	c, err := h.Dial("tcp4", to, time.Until(over))
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		return nil
	}
	if err != nil {
		return err
	}
	defer c.Close()
	// Unsent data is discarded, because it must not delay the next measurement.
	if err := c.(*net.TCPConn).SetLinger(0); err != nil {
		return err
	}
	if err := c.SetWriteDeadline(over); err != nil {
		return err
	}
	for b := make([]byte, flowBlock); err == nil; {
		_, err = c.Write(b)
	}
	return nil
}
