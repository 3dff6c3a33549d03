package msg_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

// liar is a peer that sends arbitrary frames.
type liar struct {
	*ep.Endpoint
	h *ep.Handle
}

func newLiar(t *testing.T, key ep.PrivateKey, b *msg.Endpoint) *liar {
	t.Helper()
	e, err := ep.Open(ep.Config{Key: key, Protocol: "test over srd/msg 1", Ports: 4, SendDepth: 1 << 14})
	must(t, err)
	t.Cleanup(func() { e.Close() })
	must(t, b.Allow(e.PublicKey()))
	h, err := e.Handle(b.PublicKey(), local(b.Port()))
	must(t, err)
	return &liar{e, h}
}

// answer accepts the next answer about an offer.
func (l *liar) answer(t *testing.T, ctx context.Context) (number uint32, unknown bool) {
	t.Helper()
	must(t, l.PostReceive(make([]byte, 10), 0))
	var c [1]ep.Completion
	_, err := l.Receives().Wait(ctx, c[:])
	must(t, err)
	return c[0].Immediate, c[0].Data[1] == 1
}

// eager makes the frame of a short message. With an epoch the message is ordered.
func eager(tag, epoch uint64, seq uint32, data []byte) []byte {
	b := []byte{1}
	if epoch != 0 {
		b[0] |= 0x80
	}
	b = binary.BigEndian.AppendUint64(b, tag)
	if epoch != 0 {
		b = append(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, epoch), seq), byte(min(seq, 255)))
	}
	return append(b, data...)
}

// offered makes the frame of an offer.
func offered(number uint32, size, key uint64) []byte {
	b := binary.BigEndian.AppendUint64([]byte{2}, 0)
	b = binary.BigEndian.AppendUint32(b, number)
	return binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, size), key)
}

// exchange sends messages between honest peers, which the liar must not affect.
func exchange(t *testing.T, ctx context.Context, c, b *msg.Endpoint, h *msg.Handle) {
	t.Helper()
	for _, size := range []int{100, 100_000} {
		receive(t, b, msg.Match{From: c.PublicKey(), Tag: 1}, size, 99)
		send(t, ctx, h, 1, sequence(size), msg.Options{})
		if got := next(t, ctx, b.Receives()); got.Err != nil || got.From != c.PublicKey() || !bytes.Equal(got.Data, sequence(size)) {
			t.Fatalf("an honest message: %v, %d bytes", got.Err, len(got.Data))
		}
		if got := next(t, ctx, c.Sends()); got.Err != nil {
			t.Fatal(got.Err)
		}
	}
}

// A peer sends any number of messages that match no receive, and again in a new session. Its
// bound holds, and other peers are not affected.
func TestTagFlood(t *testing.T) {
	ctx := background(t)
	const unexpected, window = 32, 256
	b, c := endpoint(t, msg.Config{Unexpected: unexpected}), endpoint(t, msg.Config{})
	h := joined(t, c, b)
	key := ep.NewKey()
	full := make([]byte, 8000)
	for name, frame := range map[string]func(i int) []byte{
		"tags":   func(i int) []byte { return eager(uint64(i), 0, 0, full) },
		"offers": func(i int) []byte { return offered(uint32(i)+1, 1<<29, 7) },
		"a gap":  func(i int) []byte { return eager(9, 5, uint32(1+i%window), full) },
		"epochs": func(i int) []byte { return eager(9, uint64(6+i/100), uint32(1+i%100), full) },
	} {
		l := newLiar(t, key, b)
		for i := range 2000 {
			must(t, l.TrySend(l.h, frame(i), ep.SendOptions{Quiet: true}))
		}
		waitFor(t, ctx, func() bool { return b.Stats().Below.Refused > 0 })
		for range 10 {
			exchange(t, ctx, c, b, h)
			if n := b.Kept(); n > unexpected+window {
				t.Fatalf("%s: %d messages are kept", name, n)
			}
		}
		l.Close()
	}
}

// Frames that no honest peer sends are counted, and occupy no memory.
func TestLiesInFrames(t *testing.T) {
	ctx := background(t)
	b, c := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, c, b)
	l := newLiar(t, ep.NewKey(), b)
	bad := [][]byte{
		nil, {1}, {0, 0, 0, 0, 0, 0, 0, 0, 0}, append([]byte{0x21}, make([]byte, 8)...),
		append([]byte{0x81}, make([]byte, 8+12)...), append([]byte{0x41}, make([]byte, 8+3)...),
		append([]byte{2}, make([]byte, 8+19)...), append([]byte{2}, make([]byte, 8+21)...),
		offered(1, msg.MaxMessage+1, 7), offered(1, 1<<63, 7),
		{3, 0}, {4, 0},
	}
	for _, frame := range bad {
		must(t, l.Confirm(ctx, l.h, frame, ep.SendOptions{}))
	}
	control := [][]byte{nil, {3}, {3, 2}, {4, 1}, {5, 0}, {6, 0}, {3, 0, 0}, append([]byte{5, 1}, make([]byte, 8)...)}
	for _, frame := range control {
		must(t, l.Confirm(ctx, l.h, frame, ep.SendOptions{HasImmediate: true}))
	}
	// An offer with a number that is in use, and an ordered message that is held.
	for _, frame := range [][]byte{offered(5, 10_000, 7), offered(5, 10_000, 7), eager(9, 3, 0, nil), eager(9, 3, 2, nil), eager(9, 3, 2, nil)} {
		must(t, l.Confirm(ctx, l.h, frame, ep.SendOptions{}))
	}
	want := uint64(len(bad) + len(control) + 2)
	waitFor(t, ctx, func() bool { return b.Stats().Bad == want })
	if n := b.Kept(); n != 3 {
		t.Errorf("%d messages are kept, want 3", n)
	}
	exchange(t, ctx, c, b, h)
}

// An offer of bytes that cannot be read fails, and affects only its own receive.
func TestFalseOffer(t *testing.T) {
	ctx := background(t)
	b, c := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, c, b)
	l := newLiar(t, ep.NewKey(), b)
	region, err := l.Register(b.PublicKey(), make([]byte, 10), ep.AccessRead)
	must(t, err)
	for i, key := range []uint64{7, region.Remote(0).Key} {
		must(t, l.Confirm(ctx, l.h, offered(uint32(i), 3<<20, key), ep.SendOptions{}))
		receive(t, b, msg.Match{}, 3<<20, uint64(i))
		if got := next(t, ctx, b.Receives()); got.Err != ep.StatusRemoteInvalid || got.Context != uint64(i) {
			t.Errorf("%v", got.Err)
		}
	}
	exchange(t, ctx, c, b, h)
}

// A peer claims to have read a message that was offered to another peer, or was never
// offered.
func TestLiesAboutOffers(t *testing.T) {
	ctx := background(t)
	b, c := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	l := newLiar(t, ep.NewKey(), b)
	bc := joined(t, b, c)
	send(t, ctx, bc, 1, sequence(100_000), msg.Options{})
	arrived(t, ctx, c, 1)
	for i := range uint32(100) {
		must(t, l.Confirm(ctx, l.h, []byte{3, 0}, ep.SendOptions{Immediate: b.Newest() - i, HasImmediate: true}))
	}
	waitFor(t, ctx, func() bool { return b.Stats().Bad == 1 })
	if b.Sends().Poll(make([]msg.Completion, 1)) > 0 || b.Stats().Offers != 1 {
		t.Error("believed")
	}
	receive(t, c, msg.Match{Tag: 1}, 100_000, 0)
	if got := next(t, ctx, c.Receives()); got.Err != nil {
		t.Error(got.Err)
	}
	if got := next(t, ctx, b.Sends()); got.Err != nil {
		t.Error(got.Err)
	}
}

// A peer sends any number of probes, and accepts no answer. The number of stored answers is
// bounded.
func TestProbeFlood(t *testing.T) {
	ctx := background(t)
	b, c := endpoint(t, msg.Config{}), endpoint(t, msg.Config{})
	h := joined(t, c, b)
	l := newLiar(t, ep.NewKey(), b)
	for i := range 5000 {
		o := ep.SendOptions{Immediate: uint32(i), HasImmediate: true, Quiet: true}
		must(t, l.Send(ctx, l.h, []byte{4, 0}, o))
	}
	waitFor(t, ctx, func() bool {
		if n := b.Answers(); n > 1024 {
			t.Fatalf("%d answers wait", n)
		}
		return b.Stats().Below.Received == 5000
	})
	waitFor(t, ctx, func() bool { return b.Answers() > 0 })
	exchange(t, ctx, c, b, h)
}

// A peer offers messages, and does not yet accept the answers that their bytes were read. If it
// sends probes now, the receiver does not answer that the messages are unknown: this answer might
// arrive first.
func TestProbeOfAMessageThatWasRead(t *testing.T) {
	ctx := background(t)
	const offers, stray = 32, 1000 // the answers to 32 offers take all slots of b
	b := endpoint(t, msg.Config{Endpoint: ep.Config{SendDepth: offers}})
	l := newLiar(t, ep.NewKey(), b)
	region, err := l.Register(b.PublicKey(), make([]byte, 100), ep.AccessRead)
	must(t, err)
	for number := range uint32(offers) {
		must(t, l.Confirm(ctx, l.h, offered(number, 100, region.Remote(0).Key), ep.SendOptions{}))
		receive(t, b, msg.Match{}, 100, 0)
		must(t, next(t, ctx, b.Receives()).Err)
	}
	probe := func(number uint32) {
		must(t, l.Confirm(ctx, l.h, []byte{4, 0}, ep.SendOptions{Immediate: number, HasImmediate: true}))
	}
	for number := range uint32(offers) {
		probe(number)
	}
	probe(stray)
	waitFor(t, ctx, func() bool { return b.Answers() > 0 })
	for range offers + 1 {
		number, unknown := l.answer(t, ctx)
		if unknown != (number == stray) {
			t.Errorf("unknown %v: message %d", unknown, number)
		}
	}
}

// A program discards many long messages at once, while their sender accepts no answers. The
// sender later gets an answer about each of them.
func TestManyMessagesDiscardedAtOnce(t *testing.T) {
	ctx := background(t)
	const offers = 1500
	b := endpoint(t, msg.Config{Unexpected: offers})
	l := newLiar(t, ep.NewKey(), b)
	for number := range uint32(offers) {
		must(t, l.Send(ctx, l.h, offered(number, 100, 7), ep.SendOptions{Quiet: true}))
	}
	arrived(t, ctx, b, offers)
	for range offers {
		c, _ := b.Claim(msg.Match{})
		c.Discard()
	}
	seen := map[uint32]bool{}
	for len(seen) < offers {
		number, unknown := l.answer(t, ctx)
		if unknown || seen[number] {
			t.Fatalf("unknown %v: message %d, after %d others", unknown, number, len(seen))
		}
		seen[number] = true
	}
}

// The receiver of an offer restarts, and does not know it any more. The sender's send then
// fails.
func TestReceiverOfAnOfferRestarts(t *testing.T) {
	ctx := background(t)
	key := ep.NewKey()
	a := endpoint(t, msg.Config{})
	b := endpoint(t, msg.Config{Endpoint: ep.Config{Key: key}})
	h := joined(t, a, b)
	send(t, ctx, h, 1, make([]byte, 100_000), msg.Options{})
	arrived(t, ctx, b, 1)
	a.Probe()
	time.Sleep(50 * time.Millisecond)
	if a.Sends().Poll(make([]msg.Completion, 1)) > 0 {
		t.Error("the receiver knows it, and it has ended")
	}
	port := b.Port()
	b.Close()
	endpoint(t, msg.Config{Endpoint: ep.Config{Key: key, Port: port, Allow: []ep.PublicKey{a.PublicKey()}}})
	var c [1]msg.Completion
	waitFor(t, ctx, func() bool {
		a.Probe()
		time.Sleep(20 * time.Millisecond)
		return a.Sends().Poll(c[:]) > 0
	})
	if !errors.Is(c[0].Err, ep.StatusReset) {
		t.Errorf("got %v", c[0].Err)
	}
}

// If the receiver of an offer fails, the send fails like other requests.
func TestReceiverOfAnOfferDies(t *testing.T) {
	ctx := background(t)
	a := endpoint(t, msg.Config{Endpoint: ep.Config{Unresponsive: 300 * time.Millisecond}})
	b := endpoint(t, msg.Config{})
	h := joined(t, a, b)
	send(t, ctx, h, 1, make([]byte, 100_000), msg.Options{})
	arrived(t, ctx, b, 1)
	b.Close()
	waitFor(t, ctx, func() bool { return !h.Stats().Connected })
	a.Probe()
	if c := next(t, ctx, a.Sends()); c.Err != ep.StatusUnresponsive && c.Err != ep.StatusReset {
		t.Errorf("got %v", c.Err)
	}
}

// A peer offers bytes and then sends nothing. The receive fails, and the buffer belongs to
// the program again.
func TestOfferThatIsNotSent(t *testing.T) {
	ctx := background(t)
	patient := ep.Config{Unresponsive: time.Hour}
	a, b := endpoint(t, msg.Config{Endpoint: patient}), endpoint(t, msg.Config{Endpoint: patient})
	b.ReadFor(200 * time.Millisecond)
	way := newGate(t, local(b.Port()))
	must(t, b.Allow(a.PublicKey()))
	h, err := a.Handle(b.PublicKey(), way.addr())
	must(t, err)
	send(t, ctx, h, 0, make([]byte, 100_000), msg.Options{})
	arrived(t, ctx, b, 1)
	way.shut.Store(true)
	receive(t, b, msg.Match{}, 100_000, 0)
	if c := next(t, ctx, b.Receives()); c.Err != ep.StatusTimedOut {
		t.Errorf("got %v", c.Err)
	}
}
