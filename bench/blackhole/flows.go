package blackhole

import (
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

const (
	// block is the size in bytes of one write or read of a flow.
	block = 64 << 10
	// dialWait bounds the time to connect through a working tunnel.
	dialWait = 5 * time.Second
)

// flows holds endless TCP connections through a tunnel, and samples of the bytes that they
// received.
type flows struct {
	conns   []net.Conn
	got     []atomic.Int64
	ended   atomic.Bool
	mu      sync.Mutex
	samples []point
	over    chan struct{}
}

// point holds the number of bytes that each flow had received at one moment.
type point struct {
	when time.Time
	got  []int64
}

// start connects n flows to the server's inner address.
func start(client, server *fabric.Host, to netip.Addr, n int) (*flows, error) {
	fl := &flows{got: make([]atomic.Int64, n), over: make(chan struct{})}
	l, err := server.Listen("tcp4", netip.AddrPortFrom(to, 0).String())
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for i := range n {
		out, err := client.Dial("tcp4", l.Addr().String(), dialWait)
		if err != nil {
			return nil, errors.Join(err, fl.stop())
		}
		fl.conns = append(fl.conns, out)
		in, err := l.Accept()
		if err != nil {
			return nil, errors.Join(err, fl.stop())
		}
		fl.conns = append(fl.conns, in)
		go fl.send(out)
		go fl.take(in, i)
	}
	go fl.watch()
	return fl, nil
}

func (fl *flows) stop() error {
	close(fl.over)
	var all []error
	for _, c := range fl.conns {
		all = append(all, c.Close())
	}
	return errors.Join(all...)
}

func (fl *flows) send(c net.Conn) {
	for buf := make([]byte, block); ; {
		if _, err := c.Write(buf); err != nil {
			fl.ended.Store(true)
			return
		}
	}
}

func (fl *flows) take(c net.Conn, i int) {
	for buf := make([]byte, block); ; {
		n, err := c.Read(buf)
		if err != nil {
			return
		}
		fl.got[i].Add(int64(n))
	}
}

// watch samples the received bytes of each flow. Each sample has the time at which it was really
// taken, because on a busy machine the ticker is late, and a late sample covers more bytes.
func (fl *flows) watch() {
	tick := time.NewTicker(sample)
	defer tick.Stop()
	for {
		select {
		case <-fl.over:
			return
		case <-tick.C:
			p := point{time.Now(), make([]int64, len(fl.got))}
			for i := range fl.got {
				p.got[i] = fl.got[i].Load()
			}
			fl.mu.Lock()
			fl.samples = append(fl.samples, p)
			fl.mu.Unlock()
		}
	}
}

// run waits for the duration d, and returns an error if a flow has ended.
func (fl *flows) run(d time.Duration) error {
	time.Sleep(d)
	if fl.ended.Load() {
		return errors.New("a TCP connection ended")
	}
	return nil
}

// mark returns the index of the newest sample.
func (fl *flows) mark() int {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	return max(len(fl.samples)-1, 0)
}

// mean returns the goodput of all flows between two samples, in Mbit/s.
func (fl *flows) mean(from, to int) float64 {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	a, b := fl.samples[from], fl.samples[to]
	return rate(sum(b.got)-sum(a.got), b.when.Sub(a.when))
}

// stall returns the longest time, in ms, during which every sample was below a tenth of the goodput
// `before`, in Mbit/s. The result `all` is for the sum of all flows. The result `worst` is the
// longest stall of a single flow, compared with its fair share of the goodput.
func (fl *flows) stall(from, to int, before float64) (all, worst float64) {
	fl.mu.Lock()
	defer fl.mu.Unlock()
	v := fl.samples[from : to+1]
	all = longest(v, stalled*before, func(p point) int64 { return sum(p.got) })
	for i := range fl.got {
		worst = max(worst, longest(v, stalled*before/float64(len(fl.got)), func(p point) int64 { return p.got[i] }))
	}
	return all, worst
}

// longest returns the longest time, in ms, in which all samples were below a rate in Mbit/s.
func longest(v []point, below float64, got func(p point) int64) (most float64) {
	current := time.Duration(0)
	for i := 1; i < len(v); i++ {
		d := v[i].when.Sub(v[i-1].when)
		if rate(got(v[i])-got(v[i-1]), d) < below {
			current += d
		} else {
			current = 0
		}
		most = max(most, current.Seconds()*1e3)
	}
	return most
}

func rate(bytes int64, d time.Duration) float64 {
	return float64(bytes) * 8 / 1e6 / max(d, 1).Seconds()
}

func sum(v []int64) (s int64) {
	for _, n := range v {
		s += n
	}
	return s
}
