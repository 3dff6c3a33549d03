package msg_test

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

func TestCancel(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{Endpoint: ep.Config{ReceiveDepth: 2}})
	h := joined(t, a, b)
	receive(t, b, msg.Match{}, 10, 1)
	receive(t, b, msg.Match{}, 10, 2)
	if err := b.Receive(msg.Match{}, nil, 3); err != ep.ErrFull {
		t.Errorf("a third receive: %v", err)
	}
	if b.Cancel(9) || !b.Cancel(1) {
		t.Error("Cancel")
	}
	if c := next(t, ctx, b.Receives()); c.Context != 1 || c.Err != msg.ErrCanceled || len(c.Data) != 10 {
		t.Errorf("%+v", c)
	}
	send(t, ctx, h, 0, []byte("x"), msg.Options{})
	if c := next(t, ctx, b.Receives()); c.Context != 2 || c.Err != nil {
		t.Errorf("%+v", c)
	}
	if b.Cancel(2) {
		t.Error("a receive that has matched was canceled")
	}
}

// Peek leaves a message available to receives, and Claim does not.
func TestPeekAndClaim(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, a, b)
	if _, ok := b.Peek(msg.Match{Ignore: ^uint64(0)}); ok {
		t.Error("there is nothing")
	}
	for i, size := range []int{5, 100_000, 50_000} {
		send(t, ctx, h, uint64(i), sequence(size), msg.Options{})
		arrived(t, ctx, b, i+1)
	}
	any := msg.Match{Ignore: ^uint64(0)}
	for range 2 {
		if e, ok := b.Peek(any); !ok || e.Tag != 0 || e.Size != 5 || e.From != a.PublicKey() {
			t.Errorf("%+v, %v", e, ok)
		}
	}
	short, _ := b.Claim(any)
	long, _ := b.Claim(any)
	if short.Tag != 0 || long.Tag != 1 || long.Size != 100_000 {
		t.Errorf("%+v, %+v", short.Envelope, long.Envelope)
	}
	unwanted, _ := b.Claim(any)
	receive(t, b, any, 10, 9) // it gets none of the claimed messages
	unwanted.Discard()
	for i, c := range []*msg.Claimed{short, long} {
		must(t, c.Receive(make([]byte, c.Size), uint64(i)))
		if got := next(t, ctx, b.Receives()); got.Context != uint64(i) || got.Err != nil || !bytes.Equal(got.Data, sequence(c.Size)) {
			t.Errorf("%+v", got)
		}
		if err := c.Receive(nil, 0); err == nil {
			t.Error("a claimed message was received twice")
		}
		c.Discard() // has no effect after Receive
	}
	for range 3 {
		if c := next(t, ctx, a.Sends()); c.Err != nil {
			t.Error(c.Err)
		}
	}
}

// One buffer receives several messages, each in its own part, until it is used up.
func TestReceiveMulti(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, a, b)
	big := make([]byte, 100_000)
	must(t, b.ReceiveMulti(msg.Match{}, big, 1000, 5))
	sizes, places := []int{10, 0, 50_000, 49_900, 777}, map[int]int{10: 0, 0: 64, 50_000: 128}
	for i, size := range sizes {
		send(t, ctx, h, 0, sequence(size), msg.Options{Ordered: true})
		if i < 3 {
			c := next(t, ctx, b.Receives())
			if c.Op != msg.OpReceive || c.Context != 5 || !bytes.Equal(c.Data, sequence(size)) || size > 0 && &c.Data[0] != &big[places[size]] {
				t.Fatalf("%d bytes: %v, %d bytes", size, c.Err, len(c.Data))
			}
		}
	}
	// The fourth does not fit any more.
	if c := next(t, ctx, b.Receives()); c.Op != msg.OpReleased || c.Context != 5 || len(c.Data) != len(big) {
		t.Fatalf("%v: %v, %d bytes", c.Op, c.Err, len(c.Data))
	}
	arrived(t, ctx, b, 2)
	// A new receive gets the waiting message, and is then canceled.
	must(t, b.ReceiveMulti(msg.Match{}, big, 1000, 6))
	got := map[int]bool{}
	for range 2 {
		c := next(t, ctx, b.Receives())
		got[c.Size] = c.Err == nil && bytes.Equal(c.Data, sequence(c.Size))
	}
	if !got[49_900] || !got[777] || !b.Cancel(6) {
		t.Errorf("%v", got)
	}
	if c := next(t, ctx, b.Receives()); c.Op != msg.OpReleased || c.Context != 6 {
		t.Errorf("%+v", c)
	}
}

// If a program posts no receives, its peer stops sending, and no message is lost. Long
// messages in the other direction still arrive.
func TestUnexpectedIsFlowControl(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{Unexpected: 8})
	ab := joined(t, a, b)
	ba, err := b.Handle(a.PublicKey())
	must(t, err)
	const n = 100
	for i := range n {
		send(t, ctx, ab, uint64(i), []byte{byte(i)}, msg.Options{Ordered: i%2 == 0})
	}
	waitFor(t, ctx, func() bool { return b.Stats().Below.Refused > 0 })
	arrived(t, ctx, b, b.Stats().Unexpected)
	if u := b.Stats().Unexpected; u > 8+n/2 {
		t.Errorf("%d unexpected", u)
	}
	receive(t, a, msg.Match{Tag: 9}, 100_000, 0)
	send(t, ctx, ba, 9, sequence(100_000), msg.Options{})
	if c := next(t, ctx, b.Sends()); c.Err != nil {
		t.Error(c.Err)
	}
	for i := range n { // in the order of sending; otherwise the program would wait for ever
		receive(t, b, msg.Match{Ignore: ^uint64(0)}, 10, uint64(i))
	}
	seen := map[uint64]bool{}
	for range n {
		c := next(t, ctx, b.Receives())
		if c.Err != nil || seen[c.Tag] || c.Data[0] != byte(c.Tag) {
			t.Errorf("tag %d: %v, again %v", c.Tag, c.Err, seen[c.Tag])
		}
		seen[c.Tag] = true
	}
}

// When an endpoint or a handle closes, each send and receive has one completion.
func TestClose(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, a, b)
	other := joined(t, a, b)
	for i := range 10 {
		send(t, ctx, h, uint64(i), make([]byte, 100_000), msg.Options{})
	}
	arrived(t, ctx, b, 10)
	h.Close()
	for range 10 {
		if c := next(t, ctx, a.Sends()); c.Err != ep.StatusFlushed {
			t.Errorf("closed handle: %v", c.Err)
		}
	}
	if err := h.Send(ctx, 0, nil, msg.Options{}); err != ep.ErrClosed {
		t.Errorf("closed handle: %v", err)
	}
	receive(t, b, msg.Match{}, 100_000, 0) // its sender has cancelled it
	if c := next(t, ctx, b.Receives()); c.Err != ep.StatusRemoteInvalid {
		t.Errorf("taken back: %v", c.Err)
	}
	send(t, ctx, other, 77, make([]byte, 100_000), msg.Options{})
	receive(t, a, msg.Match{}, 10, 0)
	must(t, a.ReceiveMulti(msg.Match{}, make([]byte, 100), 10, 1))
	a.Close()
	if c := next(t, ctx, a.Sends()); c.Err != ep.StatusFlushed {
		t.Errorf("closed endpoint: %v", c.Err)
	}
	for _, want := range []msg.Op{msg.OpReceive, msg.OpReleased} {
		if c := next(t, ctx, a.Receives()); c.Op != want || want == msg.OpReceive && c.Err != ep.StatusFlushed {
			t.Errorf("closed endpoint: %+v", c)
		}
	}
	if _, err := a.Receives().Wait(ctx, make([]msg.Completion, 1)); err != ep.ErrClosed {
		t.Error(err)
	}
	if err := a.Receive(msg.Match{}, nil, 0); err != ep.ErrClosed {
		t.Error(err)
	}
	if err := other.Send(ctx, 0, nil, msg.Options{}); err != ep.ErrClosed {
		t.Error(err)
	}
}
