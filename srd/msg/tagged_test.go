package msg_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/msg"
)

// sizes are message sizes near the limits of a frame and of one read.
var sizes = []int{0, 1, 1000, 8150, 8192, 8193, 100_000, 1 << 20, 3<<20 + 17}

// Messages of each size arrive completely, whether their receive is posted before or
// afterwards.
func TestSizes(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, a, b)
	for _, late := range []bool{false, true} {
		for i, size := range sizes {
			data := sequence(size)
			if !late {
				receive(t, b, msg.Match{Tag: uint64(i)}, size, 7)
			}
			send(t, ctx, h, uint64(i), data, msg.Options{Context: 3, Immediate: 11, HasImmediate: true})
			if late {
				arrived(t, ctx, b, 1)
				receive(t, b, msg.Match{Tag: uint64(i)}, size, 7)
			}
			c := next(t, ctx, b.Receives())
			if c.Err != nil || !bytes.Equal(c.Data, data) || c.Tag != uint64(i) || c.Context != 7 || c.From != a.PublicKey() || c.Size != size || c.Immediate != 11 {
				t.Fatalf("%d bytes, late %v: %v, %d bytes, tag %d", size, late, c.Err, len(c.Data), c.Tag)
			}
			if c := next(t, ctx, a.Sends()); c.Err != nil || c.Context != 3 || c.Handle != h {
				t.Fatalf("%d bytes: %+v", size, c)
			}
		}
	}
	if s := b.Stats(); s.Bad != 0 || s.Unexpected != 0 || s.Below.Violations != 0 || a.Stats().Offers != 0 {
		t.Errorf("%+v", s)
	}
}

// A receive gets the oldest matching message, from the peer that it names or from any peer.
func TestTags(t *testing.T) {
	ctx := background(t)
	a, b, c := endpoint(t, msg.Config{}), endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	ab, cb := joined(t, a, b), joined(t, c, b)
	for i, h := range []*msg.Handle{ab, cb, ab} {
		send(t, ctx, h, uint64(0x10+i), []byte{byte(i)}, msg.Options{})
		arrived(t, ctx, b, i+1)
	}
	for _, x := range []struct {
		match msg.Match
		want  byte
	}{
		{msg.Match{Tag: 0x12}, 2},
		{msg.Match{From: c.PublicKey(), Tag: 0x10, Ignore: 0xf}, 1},
		{msg.Match{Tag: 0x10, Ignore: 0xf}, 0},
	} {
		receive(t, b, x.match, 10, 0)
		if got := next(t, ctx, b.Receives()); got.Data[0] != x.want {
			t.Errorf("%+v takes message %d", x.match, got.Data[0])
		}
	}
	receive(t, b, msg.Match{Tag: 1}, 10, 1)
	receive(t, b, msg.Match{Ignore: ^uint64(0)}, 10, 2)
	receive(t, b, msg.Match{Tag: 2}, 10, 3)
	send(t, ctx, ab, 2, nil, msg.Options{})
	if got := next(t, ctx, b.Receives()); got.Context != 2 {
		t.Errorf("receive %d takes it, want the oldest that matches", got.Context)
	}
}

// Ordered messages are matched in the order in which they were sent, short and long ones.
func TestOrdered(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, a, b)
	const n = 1000
	go func() {
		for i := range n {
			size := 4 + i%50
			if i%10 == 0 {
				size = 20_000
			}
			data := make([]byte, size)
			binary.BigEndian.PutUint32(data, uint32(i))
			if err := h.Send(ctx, 1, data, msg.Options{Ordered: true}); err != nil {
				t.Error(err)
			}
			// Unordered messages in between have no effect on the order.
			if err := h.Send(ctx, 2, nil, msg.Options{}); err != nil {
				t.Error(err)
			}
		}
	}()
	go func() {
		for i := range n {
			for b.Receive(msg.Match{Tag: 1}, make([]byte, 20_000), uint64(i)) != nil {
				time.Sleep(time.Millisecond)
			}
			for b.Receive(msg.Match{Tag: 2}, nil, n) != nil {
				time.Sleep(time.Millisecond)
			}
		}
	}()
	sends := make(chan bool)
	go func() {
		defer close(sends)
		for range 2 * n {
			var c [1]msg.Completion
			if _, err := a.Sends().Wait(ctx, c[:]); err != nil || c[0].Err != nil {
				t.Error(err, c[0].Err)
				return
			}
		}
	}()
	for range 2 * n {
		c := next(t, ctx, b.Receives())
		if c.Err != nil || c.Context < n && uint64(binary.BigEndian.Uint32(c.Data)) != c.Context {
			t.Fatalf("receive %d has message %x: %v", c.Context, c.Data[:4], c.Err)
		}
	}
	<-sends
	if s := b.Stats(); s.Bad != 0 {
		t.Errorf("%+v", s)
	}
}

// A message that is longer than its buffer is truncated, and the send succeeds.
func TestTruncated(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, a, b)
	for _, size := range []int{100, 100_000} {
		data := sequence(size)
		for _, room := range []int{0, 10, 20_000} {
			receive(t, b, msg.Match{}, room, 0)
			send(t, ctx, h, 0, data, msg.Options{})
			c := next(t, ctx, b.Receives())
			want := min(room, size)
			if (want < size) != errors.Is(c.Err, msg.ErrTruncated) || !bytes.Equal(c.Data, data[:want]) || c.Size != size {
				t.Errorf("%d bytes in %d: %v, %d bytes of %d", size, room, c.Err, len(c.Data), c.Size)
			}
			if c := next(t, ctx, a.Sends()); c.Err != nil {
				t.Error(c.Err)
			}
		}
	}
}

// The network loses one of twenty packets. All messages arrive, complete and in order.
func TestLossyNetwork(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	way := newGate(t, local(b.Port()))
	must(t, b.Allow(a.PublicKey()))
	h, err := a.Handle(b.PublicKey(), way.addr())
	must(t, err)
	way.loss.Store(5)
	const n, longest = 60, 60_000
	for i := range n {
		receive(t, b, msg.Match{}, longest, uint64(i))
	}
	for i := range n {
		send(t, ctx, h, 0, sequence(1+i*longest/n), msg.Options{Ordered: true})
	}
	for range n {
		c := next(t, ctx, b.Receives())
		if want := sequence(1 + int(c.Context)*longest/n); c.Err != nil || !bytes.Equal(c.Data, want) {
			t.Errorf("receive %d: %v, %d bytes, want %d", c.Context, c.Err, len(c.Data), len(want))
		}
		if c := next(t, ctx, a.Sends()); c.Err != nil {
			t.Error(c.Err)
		}
	}
}
