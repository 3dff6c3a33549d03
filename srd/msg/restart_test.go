package msg_test

import (
	"sync"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

// A peer restarts again and again under load. Each send has one completion, and ordered
// messages arrive after each restart.
func TestPeerRestartsUnderLoad(t *testing.T) {
	ctx := background(t)
	key := ep.NewKey()
	a := endpoint(t, msg.Config{})
	serve := func(port uint16) *msg.Endpoint {
		b := endpoint(t, msg.Config{Endpoint: ep.Config{Key: key, Port: port, Allow: []ep.PublicKey{a.PublicKey()}}})
		for range 50 {
			receive(t, b, msg.Match{}, 50_000, 0)
		}
		return b
	}
	b := serve(0)
	port := b.Port()
	h := joined(t, a, b)
	const n = 500
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			if err := h.Send(ctx, 0, make([]byte, []int{10, 20_000}[i%2]), msg.Options{Ordered: i%3 > 0, Context: uint64(i)}); err != nil {
				t.Error(err)
			}
		}
	})
	seen, statuses, batch := map[uint64]bool{}, map[error]int{}, make([]msg.Completion, 16)
	restart := time.Now()
	for len(seen) < n && ctx.Err() == nil {
		if time.Since(restart) > 100*time.Millisecond {
			b.Close()
			b = serve(port)
			restart = time.Now()
			a.Probe()
		}
		for _, c := range batch[:a.Sends().Poll(batch)] {
			if seen[c.Context] {
				t.Errorf("send %d is complete twice", c.Context)
			}
			seen[c.Context] = true
			statuses[c.Err]++
		}
		// Its program polls the received messages.
		for _, c := range batch[:b.Receives().Poll(batch)] {
			b.Receive(msg.Match{}, c.Data[:cap(c.Data)], 0)
		}
		time.Sleep(time.Millisecond)
	}
	wg.Wait()
	if len(seen) != n || statuses[nil] == 0 {
		t.Errorf("%d of %d sends: %v; %+v", len(seen), n, statuses, a.Stats())
	}
	receive(t, b, msg.Match{Tag: 9}, 10, 0)
	send(t, ctx, h, 9, nil, msg.Options{Ordered: true})
	if c := next(t, ctx, a.Sends()); c.Err != nil && c.Err != ep.StatusReset {
		t.Error(c.Err)
	}
	t.Log(statuses)
}

// A receiver that has restarted does not know the earlier ordered messages. The next ones
// still arrive, in order.
func TestOrderGoesOnAfterARestart(t *testing.T) {
	ctx := background(t)
	key := ep.NewKey()
	a := endpoint(t, msg.Config{})
	b := endpoint(t, msg.Config{Endpoint: ep.Config{Key: key}})
	h := joined(t, a, b)
	for i := range 3 {
		send(t, ctx, h, uint64(i), nil, msg.Options{Ordered: true})
		if c := next(t, ctx, a.Sends()); c.Err != nil {
			t.Fatal(c.Err)
		}
	}
	port := b.Port()
	b.Close()
	b = endpoint(t, msg.Config{Endpoint: ep.Config{Key: key, Port: port, Allow: []ep.PublicKey{a.PublicKey()}}})
	for tag := uint64(3); ; tag++ { // the first send may fail with the old session
		receive(t, b, msg.Match{Tag: tag}, 10, tag)
		send(t, ctx, h, tag, nil, msg.Options{Ordered: true})
		if next(t, ctx, a.Sends()).Err != nil {
			continue
		}
		if c := next(t, ctx, b.Receives()); c.Tag != tag {
			t.Errorf("tag %d", c.Tag)
		}
		return
	}
}

// The sender of a long message restarts. Its new process sends another one before the receiver
// has a receive for the first. Only the first one fails.
func TestSenderOfAnOfferRestarts(t *testing.T) {
	ctx := background(t)
	key := ep.NewKey()
	b := endpoint(t, msg.Config{})
	begin := func(tag uint64) *msg.Endpoint {
		a := endpoint(t, msg.Config{Endpoint: ep.Config{Key: key}})
		send(t, ctx, joined(t, a, b), tag, sequence(100_000), msg.Options{})
		return a
	}
	former := begin(1)
	arrived(t, ctx, b, 1)
	former.Close()
	a := begin(2)
	arrived(t, ctx, b, 2)
	for i, want := range []error{ep.StatusRemoteInvalid, nil} {
		receive(t, b, msg.Match{Tag: uint64(i) + 1}, 100_000, 0)
		if c := next(t, ctx, b.Receives()); c.Err != want {
			t.Errorf("message %d: %v, want %v", i+1, c.Err, want)
		}
	}
	must(t, next(t, ctx, a.Sends()).Err)
	if n := b.Stats().Bad; n > 0 {
		t.Errorf("%d bad frames", n)
	}
}
