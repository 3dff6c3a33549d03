package regress

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/lab/stat"
)

var (
	incastP50 = figure{name: "incast 48 x 64 KB, p50", unit: "ms", lower: true}
	incastP99 = figure{name: "incast 48 x 64 KB, p99", unit: "ms", lower: true}
)

const (
	incastHosts  = 4
	incastFlows  = 48
	incastBytes  = 64_000
	incastRounds = 12
	incastPause  = 250 * time.Millisecond // longer than TCP's minimum RTO, so that rounds do not overlap
	incastPort   = 7100
	incastMbit   = 1000
	incastQueue  = 512 * kiB
)

var incast = scene{
	name: "incast", says: "4 hosts x 12 flows of 64 KB at once to one port of 1 Gbit/s",
	figures: []figure{incastP50, incastP99},
	measure: func(r *run) error {
		f, err := r.network(fabric.Spec{HostsA: incastHosts, RateMbit: -1})
		if err != nil {
			return err
		}
		if err := shape(f.LeafB, "h1", incastMbit, incastQueue); err != nil {
			return err
		}
		var hosts []*fabric.Host
		for i := range incastHosts {
			hosts = append(hosts, f.A(i+1))
		}
		if err := r.star(f.B(1), hosts); err != nil {
			return err
		}
		ms, err := incastTimes(f.B(1), hosts)
		if err != nil {
			return err
		}
		r.set(incastP50, stat.Quantile(ms, 0.5))
		r.set(incastP99, stat.Quantile(ms, 0.99))
		return nil
	},
}

// incastTimes lets all connections send at the same time, in several rounds. It returns the
// duration of each transfer, in ms, until its last byte has arrived.
func incastTimes(hub *fabric.Host, hosts []*fabric.Host) (ms []float64, err error) {
	l, err := hub.Listen("tcp4", netip.AddrPortFrom(tunnel.Inner4(1), incastPort).String())
	if err != nil {
		return nil, err
	}
	defer l.Close()
	var from, to []net.Conn
	defer func() {
		for _, c := range append(from, to...) {
			c.Close()
		}
	}()
	for i := range incastFlows {
		c, err := hosts[i%len(hosts)].Dial("tcp4", l.Addr().String(), 10*time.Second)
		if err != nil {
			return nil, err
		}
		from = append(from, c)
		in, err := l.Accept()
		if err != nil {
			return nil, err
		}
		to = append(to, in)
	}
	for range incastRounds {
		time.Sleep(incastPause)
		round, err := incastRound(from, to)
		if err != nil {
			return nil, err
		}
		ms = append(ms, round...)
	}
	return ms, nil
}

func incastRound(from, to []net.Conn) (ms []float64, err error) {
	var all sync.WaitGroup
	ms = make([]float64, len(from))
	errs := make([]error, 2*len(from))
	begun := time.Now()
	for i := range from {
		all.Go(func() {
			buf := binary.BigEndian.AppendUint32(nil, uint32(i))
			buf = append(buf, make([]byte, incastBytes-len(buf))...)
			_, errs[2*i] = from[i].Write(buf)
		})
		all.Go(func() {
			buf := make([]byte, incastBytes)
			if errs[2*i+1] = to[i].SetReadDeadline(begun.Add(20 * time.Second)); errs[2*i+1] == nil {
				_, errs[2*i+1] = io.ReadFull(to[i], buf)
			}
			ms[i] = time.Since(begun).Seconds() * 1e3
		})
	}
	all.Wait()
	return ms, errors.Join(errs...)
}
