package ep_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/handshake"
)

// region registers memory of b for a.
func region(t *testing.T, b, a *ep.Endpoint, size int, access ep.Access) (*ep.Region, []byte) {
	t.Helper()
	memory := make([]byte, size)
	r, err := b.Register(a.PublicKey(), memory, access)
	must(t, err)
	return r, memory
}

// sequence returns n bytes in a pattern without short periods.
func sequence(n int) []byte {
	v := make([]byte, n)
	for i := range v {
		v[i] = byte(i ^ i>>8 ^ i>>16)
	}
	return v
}

// completed waits for the completion of a request.
func completed(t *testing.T, ctx context.Context, e *ep.Endpoint, op ep.Op, want ep.Status) ep.Completion {
	t.Helper()
	c := next(t, ctx, e.Sends())
	if c.Op != op || c.Status != want {
		t.Fatalf("completion of %d is %v, want %d, %v", c.Op, c.Status, op, want)
	}
	return c
}

// Writes and reads of any size need no posted receive, and change exactly the bytes of their
// destination.
func TestWriteAndRead(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	h := joined(t, a, b)
	const edge = 16
	for _, size := range []int{0, 1, 1000, 8192, 8193, 100_000, ep.MaxMessage} {
		r, memory := region(t, b, a, size+2*edge, ep.AccessRead|ep.AccessWrite)
		data := sequence(size)
		must(t, a.Write(ctx, h, r.Remote(edge), data, ep.SendOptions{Context: 7}))
		if c := completed(t, ctx, a, ep.OpWrite, ep.StatusOK); c.Context != 7 || c.Handle != h {
			t.Errorf("completion %+v", c)
		}
		b.Stats() // its lock tells the race detector that the completion is later than the write
		want := append(append(make([]byte, edge), data...), make([]byte, edge)...)
		if !bytes.Equal(memory, want) {
			t.Fatalf("%d bytes: the memory differs", size)
		}
		back := make([]byte, size)
		must(t, a.Read(ctx, h, r.Remote(edge), back, ep.SendOptions{}))
		if c := completed(t, ctx, a, ep.OpRead, ep.StatusOK); !bytes.Equal(c.Data, data) {
			t.Fatalf("%d bytes: read differs", size)
		}
		r.Close()
	}
	if s := b.Stats(); s.Written != 7 || s.Read != 7 || s.Denied != 0 || s.Violations != 0 {
		t.Errorf("%+v", s)
	}
}

// Many concurrent writes and reads have exactly one completion each.
func TestManyWritesAndReads(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	h := joined(t, a, b)
	const n, size = 100, 20_000
	r, memory := region(t, b, a, 2*n*size, ep.AccessRead|ep.AccessWrite)
	copy(memory[n*size:], sequence(n*size))
	data, back := sequence(n*size), make([]byte, n*size)
	for i := range n {
		part := func(b []byte) []byte { return b[i*size : (i+1)*size] }
		must(t, a.Write(ctx, h, r.Remote(i*size), part(data), ep.SendOptions{}))
		must(t, a.Read(ctx, h, r.Remote((n+i)*size), part(back), ep.SendOptions{}))
	}
	for range 2 * n {
		if c := next(t, ctx, a.Sends()); c.Err() != nil {
			t.Fatal(c.Err())
		}
	}
	b.Stats() // its lock is for the race detector, as above
	if !bytes.Equal(memory[:n*size], data) || !bytes.Equal(back, data) {
		t.Error("the bytes differ")
	}
}

// The immediate data of a write tells the peer's program that the write is complete.
func TestWriteWithImmediate(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	h := joined(t, a, b)
	r, memory := region(t, b, a, 50_000, ep.AccessWrite)
	data := sequence(50_000)
	must(t, a.Write(ctx, h, r.Remote(0), data, ep.SendOptions{Immediate: 42, HasImmediate: true}))
	if err := b.PostReceive(make([]byte, 10), 3); err != nil { // the receive may be posted after the write was sent
		t.Fatal(err)
	}
	c := next(t, ctx, b.Receives())
	if c.Op != ep.OpWritten || c.Immediate != 42 || c.Region != r || c.Bytes != len(data) || c.From != a.PublicKey() || c.Context != 3 || cap(c.Data) != 10 {
		t.Errorf("completion %+v", c)
	}
	if !bytes.Equal(memory, data) {
		t.Error("the memory differs")
	}
	completed(t, ctx, a, ep.OpWrite, ep.StatusOK)
}

// A request without access rights fails at the requester, and its session continues.
func TestDenied(t *testing.T) {
	ctx := background(t)
	a, b, c := endpoint(t, ep.Config{}), endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	h, foreign := joined(t, a, b), joined(t, c, b)
	r, memory := region(t, b, a, 100, ep.AccessWrite)
	must(t, a.Write(ctx, h, r.Remote(1), make([]byte, 100), ep.SendOptions{}))
	completed(t, ctx, a, ep.OpWrite, ep.StatusRemoteInvalid)
	must(t, a.Read(ctx, h, r.Remote(0), make([]byte, 10), ep.SendOptions{}))
	completed(t, ctx, a, ep.OpRead, ep.StatusRemoteInvalid)
	if err := c.Write(ctx, foreign, r.Remote(0), []byte{1}, ep.SendOptions{}); err != nil { // it knows the key
		t.Fatal(err)
	}
	completed(t, ctx, c, ep.OpWrite, ep.StatusRemoteInvalid)
	r.Close()
	must(t, a.Write(ctx, h, r.Remote(0), []byte{1}, ep.SendOptions{}))
	completed(t, ctx, a, ep.OpWrite, ep.StatusRemoteInvalid)
	post(t, b, 1, 10)
	confirm(t, ctx, a, h, "hello", ep.StatusOK)
	if s := b.Stats(); s.Denied != 4 || s.Violations != 0 || !bytes.Equal(memory, make([]byte, 100)) {
		t.Errorf("%+v", s)
	}
}

// A region is closed during large writes and reads. After Close its memory does not change,
// and each request has one completion.
func TestCloseRegionInFlight(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	h := joined(t, a, b)
	r, memory := region(t, b, a, ep.MaxMessage, ep.AccessRead|ep.AccessWrite)
	const n = 4
	data := bytes.Repeat([]byte{1}, ep.MaxMessage)
	for range n {
		must(t, a.Write(ctx, h, r.Remote(0), data, ep.SendOptions{}))
		must(t, a.Read(ctx, h, r.Remote(0), make([]byte, ep.MaxMessage), ep.SendOptions{}))
	}
	for b.Stats().Read == 0 {
		time.Sleep(100 * time.Microsecond)
	}
	r.Close()
	was := bytes.Clone(memory)
	for range 2 * n {
		if c := next(t, ctx, a.Sends()); c.Status != ep.StatusOK && c.Status != ep.StatusRemoteInvalid {
			t.Errorf("got %v", c.Status)
		}
	}
	if !bytes.Equal(memory, was) {
		t.Error("bytes were written after Close")
	}
}

// A deadline gives a read's buffer back to the program.
func TestReadTimesOut(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	relay := newRelay(t, local(b))
	allow(t, b, a)
	h, err := a.Handle(b.PublicKey(), relay.addr())
	must(t, err)
	r, _ := region(t, b, a, 100, ep.AccessRead)
	post(t, b, 1, 10)
	confirm(t, ctx, a, h, "hello", ep.StatusOK)
	relay.cut.Store(true)
	buf := make([]byte, 100)
	must(t, a.Read(ctx, h, r.Remote(0), buf, ep.SendOptions{Timeout: 50 * time.Millisecond}))
	completed(t, ctx, a, ep.OpRead, ep.StatusTimedOut)
	buf[0] = 9 // no race: the buffer belongs to the program again
	relay.cut.Store(false)
	must(t, a.Read(ctx, h, r.Remote(0), make([]byte, 100), ep.SendOptions{}))
	completed(t, ctx, a, ep.OpRead, ep.StatusOK)
	if buf[0] != 9 {
		t.Error("a late reply was written")
	}
}

func TestRegisterRefuses(t *testing.T) {
	e := endpoint(t, ep.Config{})
	twin := e.PublicKey()
	twin[31] |= 0x80
	if _, err := e.Register(twin, nil, ep.AccessRead); !errors.Is(err, handshake.ErrSpelling) {
		t.Error(err)
	}
	if _, err := e.Register(e.PublicKey(), nil, 0); err == nil {
		t.Error("a region of no use")
	}
	e.Close()
	if _, err := e.Register(e.PublicKey(), nil, ep.AccessRead); !errors.Is(err, ep.ErrClosed) {
		t.Error(err)
	}
}

// Writes, reads and messages with immediate data do not wait for messages that were refused.
func TestMemoryDoesNotWaitForCredits(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{PeerReceives: 1})
	h := joined(t, a, b)
	r, _ := region(t, b, a, 100_000, ep.AccessRead|ep.AccessWrite)
	post(t, b, 10, 1000)
	for range 200 {
		must(t, a.Send(ctx, h, make([]byte, 1000), ep.SendOptions{Quiet: true}))
	}
	for b.Stats().Refused == 0 {
		time.Sleep(time.Millisecond)
	}
	for range 5 {
		must(t, a.Write(ctx, h, r.Remote(0), make([]byte, 100_000), ep.SendOptions{}))
		completed(t, ctx, a, ep.OpWrite, ep.StatusOK)
		must(t, a.Read(ctx, h, r.Remote(0), make([]byte, 100_000), ep.SendOptions{}))
		completed(t, ctx, a, ep.OpRead, ep.StatusOK)
		must(t, a.Confirm(ctx, h, nil, ep.SendOptions{HasImmediate: true}))
	}
}
