package msg_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func background(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// local returns the address at which programs on this host call an endpoint.
func local(port uint16) netip.AddrPort {
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), port)
}

// endpoint opens an endpoint and closes it when the test ends.
func endpoint(t *testing.T, cfg msg.Config) *msg.Endpoint {
	t.Helper()
	if cfg.Endpoint.Key.Public() == (ep.PublicKey{}) {
		cfg.Endpoint.Key = ep.NewKey()
	}
	cfg.Endpoint.Protocol, cfg.Endpoint.Ports = "test", 4
	m, err := msg.Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// joined returns a handle from a to b, where a is allowed.
func joined(t *testing.T, a, b *msg.Endpoint) *msg.Handle {
	t.Helper()
	if err := b.Allow(a.PublicKey()); err != nil {
		t.Fatal(err)
	}
	h, err := a.Handle(b.PublicKey(), local(b.Port()))
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func send(t *testing.T, ctx context.Context, h *msg.Handle, tag uint64, data []byte, o msg.Options) {
	t.Helper()
	if err := h.Send(ctx, tag, data, o); err != nil {
		t.Fatal(err)
	}
}

func receive(t *testing.T, m *msg.Endpoint, match msg.Match, size int, context uint64) {
	t.Helper()
	if err := m.Receive(match, make([]byte, size), context); err != nil {
		t.Fatal(err)
	}
}

func next(t *testing.T, ctx context.Context, q *msg.Queue) msg.Completion {
	t.Helper()
	var c [1]msg.Completion
	if _, err := q.Wait(ctx, c[:]); err != nil {
		t.Fatal(err)
	}
	return c[0]
}

// waitFor waits until a condition holds.
func waitFor(t *testing.T, ctx context.Context, ok func() bool) {
	t.Helper()
	for !ok() {
		if ctx.Err() != nil {
			t.Fatal("it never happens")
		}
		time.Sleep(time.Millisecond)
	}
}

// arrived waits until m has n messages that no receive has taken.
func arrived(t *testing.T, ctx context.Context, m *msg.Endpoint, n int) {
	t.Helper()
	waitFor(t, ctx, func() bool { return m.Stats().Unexpected == n })
}

func sequence(n int) []byte {
	v := make([]byte, n)
	for i := range v {
		v[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return v
}

// sizes are those around the bounds: of frames, and of one read.
var sizes = []int{0, 1, 1000, 8150, 8192, 8193, 100_000, 1 << 20, 3<<20 + 17}

// Messages of each size arrive whole, before and after their receive is posted.
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

// A receive takes the oldest message that matches, from the peer that it names or any.
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
			// Others go between, and do not disturb.
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

// A message that is longer than its buffer is truncated, and its sender is content.
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

// Peek does not take a message, and Claim does.
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
	receive(t, b, any, 10, 9) // it gets none of them
	unwanted.Discard()
	for i, c := range []*msg.Claimed{short, long} {
		if err := c.Receive(make([]byte, c.Size), uint64(i)); err != nil {
			t.Fatal(err)
		}
		if got := next(t, ctx, b.Receives()); got.Context != uint64(i) || got.Err != nil || !bytes.Equal(got.Data, sequence(c.Size)) {
			t.Errorf("%+v", got)
		}
		if err := c.Receive(nil, 0); err == nil {
			t.Error("a claimed message was received twice")
		}
		c.Discard() // has no effect any more
	}
	for range 3 {
		if c := next(t, ctx, a.Sends()); c.Err != nil {
			t.Error(c.Err)
		}
	}
}

// One buffer takes several messages, each in its place, until it is used up.
func TestReceiveMulti(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, a, b)
	big := make([]byte, 100_000)
	if err := b.ReceiveMulti(msg.Match{}, big, 1000, 5); err != nil {
		t.Fatal(err)
	}
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
	// A new one takes what waits, and is canceled.
	if err := b.ReceiveMulti(msg.Match{}, big, 1000, 6); err != nil {
		t.Fatal(err)
	}
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

// A program that posts no receives stops its peer and loses no message. Long messages in the
// other direction still arrive.
func TestUnexpectedIsFlowControl(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, msg.Config{}), endpoint(t, msg.Config{Unexpected: 8})
	ab := joined(t, a, b)
	ba, err := b.Handle(a.PublicKey())
	if err != nil {
		t.Fatal(err)
	}
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
	for i := range n { // in the order in which they were sent, or the program waits for ever
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
	receive(t, b, msg.Match{}, 100_000, 0) // its sender has taken it back
	if c := next(t, ctx, b.Receives()); c.Err != ep.StatusRemoteInvalid {
		t.Errorf("taken back: %v", c.Err)
	}
	send(t, ctx, other, 77, make([]byte, 100_000), msg.Options{})
	receive(t, a, msg.Match{}, 10, 0)
	if err := a.ReceiveMulti(msg.Match{}, make([]byte, 100), 10, 1); err != nil {
		t.Fatal(err)
	}
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
