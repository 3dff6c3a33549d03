package e2e

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/srd/ep"
)

const (
	// requestPeers times requestDepth requests are outstanding. A peer may have at most 1,024
	// unanswered requests.
	requestPeers, requestDepth = 10, 1000
	requestBytes               = 64
	requestsMost               = 3_000_000
	// Requests run for the time requestBefore until a spine fails, and for requestAfter during the
	// failure.
	requestBefore, requestAfter = 2 * time.Second, time.Second
	// requestMost bounds the 99th percentile of the times of requests that were outstanding at the
	// failure. Without a failure, ten thousand requests take 30 to 60 ms, because both ends share
	// two cores.
	requestMost = 400 * time.Millisecond
	// requestEnd bounds the wait for the last completion.
	requestEnd = 30 * time.Second
)

// fate is the outcome of one request.
type fate struct {
	at, done  time.Time
	completed int
	status    ep.Status
	arrived   atomic.Int32
}

// asker sends numbered requests from one endpoint to several endpoints.
type asker struct {
	e   *ep.Endpoint
	to  []*ep.Handle
	all []fate
	n   int // begun
	// under is the number of outstanding requests, and open contains this number for each peer.
	under int
	open  [requestPeers]int
}

// openIn opens an endpoint on a host.
func openIn(t *testing.T, h *fabric.Host, cfg ep.Config) (e *ep.Endpoint) {
	t.Helper()
	cfg.Key, cfg.Protocol = ep.NewKey(), "e2e"
	must(t, h.Do(func() (err error) { e, err = ep.Open(cfg); return err }))
	t.Cleanup(func() { e.Close() })
	return e
}

// newAsker opens the endpoints. All endpoints except the first receive requests.
func newAsker(t *testing.T, f *fabric.Fabric, most int) *asker {
	t.Helper()
	a := &asker{e: openIn(t, f.A(1), ep.Config{SendDepth: requestDepth}), all: make([]fate, most)}
	var taking sync.WaitGroup
	t.Cleanup(taking.Wait)
	for range requestPeers {
		e := openIn(t, f.B(1), ep.Config{ReceiveDepth: 2 * requestDepth})
		must(t, e.Allow(a.e.PublicKey()))
		h, err := a.e.Handle(e.PublicKey(), netip.AddrPortFrom(f.B(1).Addr4(), e.Port()))
		must(t, err)
		a.to = append(a.to, h)
		for range 2 * requestDepth {
			must(t, e.PostReceive(make([]byte, requestBytes), 0))
		}
		taking.Go(func() { a.take(e) })
	}
	return a
}

// take counts the requests that arrive at an endpoint.
func (a *asker) take(e *ep.Endpoint) {
	for c := make([]ep.Completion, 64); ; {
		n, err := e.Receives().Wait(context.Background(), c)
		if err != nil {
			return
		}
		for i := range c[:n] {
			if c[i].Status != ep.StatusOK {
				continue // the endpoint is closed
			}
			a.all[binary.BigEndian.Uint64(c[i].Data)].arrived.Add(1)
			if e.PostReceive(c[i].Data[:requestBytes], 0) != nil {
				return
			}
		}
	}
}

// run keeps the full number of requests outstanding until the given time. If more is false, run
// only waits for the outstanding requests.
func (a *asker) run(until time.Time, more bool) error {
	c := make([]ep.Completion, 256)
	ctx, cancel := context.WithDeadline(context.Background(), until)
	defer cancel()
	for more || a.under > 0 {
		if more {
			if err := a.fill(); err != nil {
				return err
			}
		}
		n, err := a.e.Sends().Wait(ctx, c)
		for i := range c[:n] {
			x := &a.all[c[i].Context]
			x.completed++
			x.done, x.status = time.Now(), c[i].Status
			a.open[slices.Index(a.to, c[i].Handle)]--
			a.under--
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fill sends requests until each peer has requestDepth outstanding requests.
func (a *asker) fill() error {
	data := make([]byte, requestBytes)
	for i, h := range a.to {
		for a.open[i] < requestDepth {
			if a.n == len(a.all) {
				return fmt.Errorf("more than %d requests", a.n)
			}
			binary.BigEndian.PutUint64(data, uint64(a.n))
			a.all[a.n].at = time.Now()
			if err := a.e.TrySend(h, data, ep.SendOptions{Context: uint64(a.n), More: a.open[i] < requestDepth-1}); err != nil {
				return err
			}
			a.n, a.under = a.n+1, a.under+1
			a.open[i]++
		}
	}
	return nil
}

// took returns the sorted completion times of the requests that were outstanding at a given time.
func (a *asker) took(at time.Time) (v []time.Duration) {
	for i := range a.all[:a.n] {
		if x := &a.all[i]; x.at.Before(at) && x.done.After(at) {
			v = append(v, x.done.Sub(x.at))
		}
	}
	slices.Sort(v)
	return v
}

// A spine fails while ten thousand requests are outstanding. Each request must arrive once, and
// complete once and soon.
func TestSpineDiesUnderRequests(t *testing.T) {
	f := network(t, fabric.Spec{})
	a := newAsker(t, f, requestsMost)
	begun := time.Now()
	alive := begun.Add(requestBefore / 2)
	death := make(chan error, 1)
	var broken time.Time
	time.AfterFunc(requestBefore, func() {
		spine, err := f.Busiest(nil)
		if err == nil {
			err = f.Break(spine)
		}
		broken = time.Now()
		death <- err
	})
	must(t, a.run(begun.Add(requestBefore+requestAfter), true))
	must(t, <-death)
	must(t, a.run(time.Now().Add(requestEnd), false))
	// A duplicate completion would come late.
	if n := a.e.Sends().Poll(make([]ep.Completion, 1)); n > 0 || a.under > 0 {
		t.Errorf("%d requests have not completed; another completion came: %v", a.under, n > 0)
	}
	for i := range a.all[:a.n] {
		if x := &a.all[i]; x.completed != 1 || x.status != ep.StatusOK || x.arrived.Load() != 1 {
			t.Fatalf("request %d of %d: arrived %d times, completed %d times, with %v", i, a.n, x.arrived.Load(), x.completed, x.status)
		}
	}
	before, dying := a.took(alive), a.took(broken)
	t.Logf("%d requests. Of %d that were under way a second before: p50 %v, p99 %v, most %v", a.n, len(before), before[len(before)/2], before[len(before)*99/100], before[len(before)-1])
	p99 := dying[len(dying)*99/100]
	t.Logf("Of %d at the death: p50 %v, p99 %v, most %v", len(dying), dying[len(dying)/2], p99, dying[len(dying)-1])
	if len(dying) < requestPeers*requestDepth/2 {
		t.Errorf("%d requests were under way at the death", len(dying))
	}
	if p99 > requestMost {
		t.Errorf("p99 %v, want at most %v", p99, requestMost)
	}
}
