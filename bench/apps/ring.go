package apps

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/lab/stat"
)

// ring is the experiment with the ring algorithm of a collective library, such as an all-reduce.
// Each of four hosts sends a message to the next host in the ring, in one slice for each of sixteen
// sockets. The next step begins when all slices have arrived. Neighbours in the ring are on
// different leaves.
var ring = app{"ring", "ring of four, 16 sockets each", fabric.Spec{HostsA: 2, HostsB: 2}, (*run).ring}

const (
	ringSockets = 16
	ringPort    = 5201
	// ringSlice is the number of bytes that each socket sends in a step. In each step a host sends
	// 4 MB in all.
	ringSlice = 256 << 10
	ringSteps = 30
	// ringFlow is how long the sockets send without steps, to compare their rates.
	ringFlow = 10 * time.Second
	// ringWait bounds the duration of a step. With plain TCP, the loss of a slice's last packet
	// costs 200 ms or more.
	ringWait = 60 * time.Second
	// wireShare is the payload's share of a full TCP packet on the wire.
	wireShare = 1448.0 / 1514
)

func (r *run) ring(c *cluster) ([]value, error) {
	// The list has leaf A's hosts first, so the order 0, 2, 1, 3 alternates between the leaves.
	order := []int{0, 2, 1, 3}
	var edges []*edge
	defer func() {
		for _, e := range edges {
			e.close()
		}
	}()
	for i, from := range order {
		to := order[(i+1)%len(order)]
		e, err := newEdge(c, from, to)
		if err != nil {
			return nil, err
		}
		edges = append(edges, e)
	}
	step, err := steps(edges)
	if err != nil {
		return nil, err
	}
	slowest, err := stream(edges)
	if err != nil {
		return nil, err
	}
	// Two edges of the ring lead from leaf A to leaf B, and two edges lead back.
	ideal := 2 * ringSockets * ringSlice * 8 / (spines * rateMbit * 1e6 * wireShare) * 1e3
	return []value{
		{"slowest_over_mean", slowest},
		{"step_p50_over_ideal", ms(stat.Quantile(step, 0.5)) / ideal},
		{"step_p99_over_ideal", ms(stat.Quantile(step, 0.99)) / ideal},
	}, nil
}

// edge holds the sockets between one host and the next host of the ring.
type edge struct {
	out, in []net.Conn
	got     []atomic.Int64 // number of bytes that have arrived at each socket
}

func newEdge(c *cluster, from, to int) (e *edge, err error) {
	e = &edge{got: make([]atomic.Int64, ringSockets)}
	var l net.Listener
	err = c.hosts[to].Do(func() (err error) {
		lc := net.ListenConfig{}
		lc.SetMultipathTCP(c.multipath())
		l, err = lc.Listen(context.Background(), "tcp4", netip.AddrPortFrom(c.addrs[to], ringPort).String())
		return err
	})
	if err != nil {
		return nil, err
	}
	defer l.Close()
	for range ringSockets {
		out, err := dial(c.hosts[from], l.Addr().String(), c.multipath())
		if err != nil {
			e.close()
			return nil, err
		}
		e.out = append(e.out, out)
		in, err := l.Accept()
		if err != nil {
			e.close()
			return nil, err
		}
		e.in = append(e.in, in)
	}
	return e, nil
}

func dial(h *fabric.Host, address string, multipath bool) (conn net.Conn, err error) {
	err = h.Do(func() (err error) {
		d := net.Dialer{Timeout: 5 * time.Second}
		d.SetMultipathTCP(multipath)
		conn, err = d.Dial("tcp4", address)
		return err
	})
	return conn, err
}

func (e *edge) close() {
	for _, c := range append(slices.Clone(e.out), e.in...) {
		c.Close()
	}
}

// steps returns the sorted durations of all steps.
func steps(edges []*edge) (took []time.Duration, err error) {
	data := make([]byte, ringSlice)
	for range ringSteps {
		begun := time.Now()
		var wg sync.WaitGroup
		errs := make(chan error, 3*len(edges)*ringSockets) // room for all errors that can be sent
		for _, e := range edges {
			for k := range ringSockets {
				deadline := begun.Add(ringWait)
				errs <- errors.Join(e.out[k].SetDeadline(deadline), e.in[k].SetDeadline(deadline))
				wg.Go(func() {
					if _, err := e.out[k].Write(data); err != nil {
						errs <- err
					}
				})
				wg.Go(func() {
					if _, err := io.CopyN(io.Discard, e.in[k], ringSlice); err != nil {
						errs <- err
					}
				})
			}
		}
		wg.Wait()
		took = append(took, time.Since(begun))
		for close(errs); ; {
			err, more := <-errs
			if err != nil {
				return nil, fmt.Errorf("a step of the ring: %w", err)
			}
			if !more {
				break
			}
		}
	}
	slices.Sort(took)
	return took, nil
}

// stream lets all sockets send continuously for ringFlow. It returns the rate of the slowest socket
// divided by the mean rate.
func stream(edges []*edge) (float64, error) {
	var wg sync.WaitGroup
	end := time.Now().Add(ringFlow)
	for _, e := range edges {
		for k := range ringSockets {
			if err := errors.Join(e.out[k].SetDeadline(end), e.in[k].SetDeadline(end)); err != nil {
				return 0, err
			}
			wg.Go(func() {
				// The deadline of the connection ends this loop, and likewise that of the reader.
				for buf := make([]byte, 64<<10); ; {
					if _, err := e.out[k].Write(buf); err != nil {
						return
					}
				}
			})
			wg.Go(func() {
				for buf := make([]byte, 64<<10); ; {
					n, err := e.in[k].Read(buf)
					if err != nil {
						return
					}
					e.got[k].Add(int64(n))
				}
			})
		}
	}
	wg.Wait()
	least, sum := int64(-1), int64(0)
	for _, e := range edges {
		for k := range e.got {
			got := e.got[k].Load()
			sum += got
			if least < 0 || got < least {
				least = got
			}
		}
	}
	if sum == 0 {
		return 0, errors.New("nothing arrived in the ring")
	}
	return float64(least) * float64(len(edges)*ringSockets) / float64(sum), nil
}
