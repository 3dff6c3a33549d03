package msg_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

// node is an endpoint whose program sends, receives, cancels and claims at random.
type node struct {
	m    *msg.Endpoint
	to   []*msg.Handle
	seed uint64
}

// Several programs call all methods at the same time, each in several goroutines. Each send
// and each receive has one completion, and the received messages are equal to the sent
// ones.
func TestEverythingAtOnce(t *testing.T) {
	ctx := background(t)
	const nodes, each = 3, 200
	var all []*node
	for i := range nodes {
		cfg := msg.Config{Unexpected: 1 + 40*i, Endpoint: ep.Config{SendDepth: 1 + 30*i, ReceiveDepth: 100}}
		all = append(all, &node{m: endpoint(t, cfg), seed: uint64(i)})
	}
	for _, x := range all {
		for _, y := range all {
			if x != y {
				x.to = append(x.to, joined(t, x.m, y.m))
			}
		}
	}
	var sending, receiving sync.WaitGroup
	done, cancel := context.WithCancel(ctx)
	for _, x := range all {
		sending.Go(func() { x.send(t, ctx, each) })
		sending.Go(func() { x.sent(t, ctx, each) })
		receiving.Go(func() { x.post(t, done) })
		receiving.Go(func() { x.received(t, done) })
	}
	sending.Wait()
	cancel()
	receiving.Wait()
	for _, x := range all {
		if s := x.m.Stats(); s.Bad != 0 || s.Offers != 0 || s.Below.Violations != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// body returns a message whose bytes depend only on its seed and size, so that a receiver
// can check it.
func body(seed uint64, n int) []byte {
	b := bytes.Repeat([]byte{byte(seed) ^ byte(n)}, 12+n)
	binary.BigEndian.PutUint64(b, seed)
	binary.BigEndian.PutUint32(b[8:], uint32(n))
	return b
}

func (x *node) send(t *testing.T, ctx context.Context, each int) {
	r := rand.New(rand.NewPCG(x.seed, 1))
	for range each {
		n := []int{0, 50, 8000, 9000, 300_000}[r.IntN(5)]
		h := x.to[r.IntN(len(x.to))]
		if err := h.Send(ctx, uint64(r.IntN(4)), body(x.seed, n), msg.Options{Ordered: r.IntN(2) == 0}); err != nil {
			t.Error(err)
			return
		}
	}
}

func (x *node) sent(t *testing.T, ctx context.Context, each int) {
	batch := make([]msg.Completion, 16)
	for got := 0; got < each; {
		n, err := x.m.Sends().Wait(ctx, batch)
		if err != nil {
			t.Errorf("node %d: %d of %d sends are complete: %v; %+v", x.seed, got, each, err, x.m.Stats())
			return
		}
		got += n
		x.m.Probe() // as on a busy host, where messages take longer than the time between probes
		for _, c := range batch[:n] {
			if c.Err != nil {
				t.Errorf("node %d: %v; %+v", x.seed, c.Err, x.m.Stats())
			}
		}
	}
}

func (x *node) post(t *testing.T, ctx context.Context) {
	r := rand.New(rand.NewPCG(x.seed, 2))
	all := msg.Match{Ignore: ^uint64(0)}
	for ctx.Err() == nil {
		var err error
		switch r.IntN(6) {
		case 0:
			err = x.m.ReceiveMulti(all, make([]byte, 600_000), 310_000, 1)
		case 1:
			x.m.Cancel(2)
		case 2:
			if c, ok := x.m.Claim(all); ok {
				for err = ep.ErrFull; err == ep.ErrFull && ctx.Err() == nil; err = c.Receive(make([]byte, c.Size), 3) {
					time.Sleep(100 * time.Microsecond)
				}
			}
		case 3:
			err = x.m.Receive(msg.Match{From: x.to[0].Key(), Tag: uint64(r.IntN(4))}, make([]byte, 310_000), 2)
		default:
			err = x.m.Receive(all, make([]byte, 310_000), 2)
		}
		if err != nil && err != ep.ErrFull {
			t.Error(err)
		}
		if err != nil {
			x.m.Cancel(2) // makes room for a receive that matches other messages
			time.Sleep(100 * time.Microsecond)
		}
	}
}

func (x *node) received(t *testing.T, ctx context.Context) {
	batch := make([]msg.Completion, 16)
	for {
		n, err := x.m.Receives().Wait(ctx, batch)
		if err != nil {
			return
		}
		for _, c := range batch[:n] {
			switch {
			case c.Op == msg.OpReleased || c.Err == msg.ErrCanceled:
			case c.Err != nil:
				t.Errorf("node %d: %v", x.seed, c.Err)
			case !bytes.Equal(c.Data, body(binary.BigEndian.Uint64(c.Data), int(binary.BigEndian.Uint32(c.Data[8:])))):
				t.Errorf("node %d: a message of %d bytes differs", x.seed, c.Size)
			}
		}
	}
}
