package tcp

import (
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// The tests use these addresses for the two ends.
var (
	left  = netip.MustParseAddr("10.0.0.1")
	right = netip.MustParseAddr("10.0.0.2")
)

const (
	mbit = 1e6 / 8 // bytes per second
	ms   = time.Millisecond
	// wire is the size of a full segment of 1448 bytes on a cable.
	wire = 1448 + headerIPv4 + headerTCP + optionTime + framing
)

// ports passes packets to the connection with their destination port.
type ports [1 << 16]net.Node

func (d *ports) Receive(p *net.Packet) {
	if n := d[p.Dst.Port()]; n != nil {
		n.Receive(p)
	}
}

// filter drops the data segments in its list.
type filter struct {
	to   net.Node
	drop func(seq int64, again bool) bool
	seen map[int64]bool
}

func (f *filter) Receive(p *net.Packet) {
	if s, ok := p.Meta.(*segment); ok && s.header.size > 0 && f.drop != nil {
		h := &s.header
		again := f.seen[h.seq]
		f.seen[h.seq] = true
		if f.drop(h.seq, again) {
			return
		}
	}
	f.to.Receive(p)
}

// dumbbell is a network of two hosts with one cable, which all connections share.
type dumbbell struct {
	e           *net.Engine
	there, back *net.Link
	filter      *filter
	lefts       ports
	rights      ports
}

// newDumbbell returns a network with a bottleneck to the right. Packets to the left never wait.
func newDumbbell(seed uint64, q net.Quality) *dumbbell {
	d := &dumbbell{e: net.NewEngine(seed, nil)}
	d.there = d.e.NewLink("there", q, &d.rights)
	d.back = d.e.NewLink("back", net.Quality{Delay: q.Delay}, &d.lefts)
	d.filter = &filter{to: d.there, seen: map[int64]bool{}}
	return d
}

// pair holds the two ends of a connection.
type pair struct{ from, to *Conn }

func (d *dumbbell) connect(cfg Config, port uint16) pair {
	a, b := netip.AddrPortFrom(left, port), netip.AddrPortFrom(right, port)
	v := pair{NewConn(d.e, cfg, d.filter, a, b), NewConn(d.e, cfg, d.back, b, a)}
	d.lefts[port], d.rights[port] = v.from, v.to
	return v
}

// took sends n bytes, and returns the time until all of them have arrived. The result is 0 if they
// do not arrive within a minute.
func (d *dumbbell) took(v pair, n int64) time.Duration {
	begun, sum := d.e.Now(), v.to.in.next+n
	v.from.Write(n)
	if !d.e.Run(time.Minute, func() bool { return v.to.in.next >= sum }) {
		return 0
	}
	return d.e.Now().Sub(begun)
}

// known returns cfg for a connection with a known RTT and exact times.
func known(cfg Config, rtt time.Duration) Config {
	cfg.RTT, cfg.Jitter = rtt, 0
	return cfg
}

// within fails the test unless got is between lo and hi.
func within(t *testing.T, what string, got, lo, hi float64) {
	t.Helper()
	if got < lo || got > hi {
		t.Errorf("%s is %.4g, not between %.4g and %.4g", what, got, lo, hi)
	}
}
