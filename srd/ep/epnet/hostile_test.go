package epnet

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/ep"
)

// The layout of a frame is that in the package comment.
func TestFrameGolden(t *testing.T) {
	f := frame{kind: frameData, opener: true, id: 258, value: 1 << 40, data: []byte("srd")}
	want := append([]byte{0x82, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 1, 0, 0, 0, 0, 0}, "srd"...)
	if b := f.append(nil); !bytes.Equal(b, want) {
		t.Errorf("%x", b)
	}
	if g, ok := parseFrame(want); !ok || g.kind != f.kind || !g.opener || g.id != f.id || g.value != f.value || string(g.data) != "srd" {
		t.Errorf("%+v, %v", g, ok)
	}
	for _, bad := range [][]byte{nil, want[:headLen], want[:headLen-1], append([]byte{8}, want[1:headLen]...), append([]byte{frameEnd}, want[1:]...), append([]byte{0}, want[1:headLen]...)} {
		if _, ok := parseFrame(bad); ok {
			t.Errorf("%x is taken", bad)
		}
	}
}

// Whatever the order of the frames, the program gets the bytes in order, and the ring is at
// most as large as the window.
func TestInbound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Byte(), 1, 3000).Draw(t, "bytes")
		var in inbound
		var flying []frame
		var got []byte
		sent := 0
		for len(got) < len(all) || !in.ended {
			switch n := rapid.IntRange(0, 2).Draw(t, "step"); {
			case n == 0 && sent < len(all) && len(flying) < flightMost:
				m := min(len(all)-sent, rapid.IntRange(1, 200).Draw(t, "segment"))
				flying = append(flying, frame{value: uint64(sent), data: all[sent : sent+m]})
				sent += m
			case n == 1 && len(flying) > 0:
				i := rapid.IntRange(0, len(flying)-1).Draw(t, "which")
				if !in.add(flying[i].value, flying[i].data) {
					t.Fatal("an honest frame is refused")
				}
				flying = append(flying[:i], flying[i+1:]...)
			case n == 1 && !in.ended && sent == len(all) && !in.finish(uint64(sent)):
				t.Fatal("an honest end is refused")
			case n == 2:
				b := make([]byte, rapid.IntRange(0, 500).Draw(t, "room"))
				got = append(got, b[:in.take(b)]...)
			}
		}
		if !bytes.Equal(got, all) || !in.done() || len(in.ring) > window {
			t.Fatalf("%d of %d bytes, done %v", len(got), len(all), in.done())
		}
	})
}

// Frames that no honest peer sends are refused, and occupy no memory beyond the window.
func TestLiesInFrames(t *testing.T) {
	type step struct {
		at   uint64
		data int // 0: the end
	}
	for name, steps := range map[string][]step{
		"beyond the window":        {{window - 10, 11}},
		"an offset that overflows": {{1<<64 - 5, 10}},
		"the same twice":           {{0, 10}, {0, 10}},
		"what was read":            {{0, 10}, {5, 3}},
		"beyond the end":           {{20, 0}, {15, 6}},
		"an end before the data":   {{0, 10}, {5, 0}},
		"an end inside a gap":      {{10, 10}, {15, 0}},
		"two ends":                 {{20, 0}, {20, 0}},
		"an end beyond the window": {{window + 1, 0}},
	} {
		var in inbound
		ok := true
		for _, s := range steps {
			if s.data == 0 {
				ok = in.finish(s.at) && ok
			} else {
				ok = in.add(s.at, make([]byte, s.data)) && ok
			}
		}
		if ok || len(in.ring) > window {
			t.Errorf("%s: taken, %d bytes", name, len(in.ring))
		}
	}
	var in inbound
	n := uint64(0)
	for in.add(2*n+1, []byte{1}) {
		if n++; n > flightMost {
			t.Fatal("gaps without bound")
		}
	}
}

// foe is an endpoint that sends arbitrary frames, and the listener that it attacks.
type foe struct {
	t *testing.T
	e *ep.Endpoint
	h *ep.Handle
	s *Streams
	l net.Listener
}

func newFoe(t *testing.T) *foe {
	f := &foe{t: t}
	open := func(allow ...ep.PublicKey) *ep.Endpoint {
		e, err := ep.Open(ep.Config{Key: ep.NewKey(), Protocol: "epnet/test", Ports: 4, Allow: allow, SendDepth: 1024})
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	f.e = open()
	e := open(f.e.PublicKey())
	var err error
	if f.s, err = NewStreams(e); err != nil {
		t.Fatal(err)
	}
	if f.l, err = f.s.Listen(); err != nil {
		t.Fatal(err)
	}
	if f.h, err = f.e.Handle(e.PublicKey(), netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), e.Port())); err != nil {
		t.Fatal(err)
	}
	for range 1000 {
		f.e.PostReceive(make([]byte, ep.EagerMost), 0)
	}
	t.Cleanup(func() { f.s.Close(); f.e.Close() })
	return f
}

// say sends a frame and waits until it is accepted.
func (f *foe) say(b []byte) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := f.e.Confirm(ctx, f.h, b, ep.SendOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// hear returns the next frame.
func (f *foe) hear() frame {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var c [1]ep.Completion
	if _, err := f.e.Receives().Wait(ctx, c[:]); err != nil {
		f.t.Fatal(err)
	}
	g, ok := parseFrame(c[0].Data)
	if !ok {
		f.t.Fatalf("%x", c[0].Data)
	}
	return g
}

// A peer opens any number of streams. Streams above the limit are refused.
func TestOpenFlood(t *testing.T) {
	f := newFoe(t)
	const n = 2 * streamsMost
	for id := range uint64(n) {
		f.say((&frame{kind: frameOpen, opener: true, id: id}).append(nil))
	}
	taken, refused := 0, 0
	for taken+refused < n {
		switch f.hear().kind {
		case frameWindow:
			taken++
		case frameReset:
			refused++
		}
	}
	f.s.mu.Lock()
	streams := len(f.s.streams)
	f.s.mu.Unlock()
	if taken > streamsMost || taken > backlogMost || streams != taken {
		t.Errorf("%d taken, %d refused, %d in the table", taken, refused, streams)
	}
}

// Frames of unknown streams and malformed frames are counted. An invalid frame of one
// stream ends that stream, and no other.
func TestLiesEndOneStream(t *testing.T) {
	f := newFoe(t)
	for id := range uint64(2) {
		f.say((&frame{kind: frameOpen, opener: true, id: id}).append(nil))
		f.hear()
	}
	f.say((&frame{kind: frameData, opener: true, id: 7, data: []byte("x")}).append(nil))
	if g := f.hear(); g.kind != frameReset || g.id != 7 || g.opener {
		t.Errorf("an unknown stream: %+v", g)
	}
	f.say([]byte("no frame"))
	f.say((&frame{kind: frameData, opener: true, id: 0, value: window, data: []byte("x")}).append(nil))
	if g := f.hear(); g.kind != frameReset || g.id != 0 {
		t.Errorf("a lie: %+v", g)
	}
	f.say((&frame{kind: frameReset, opener: false, id: 9}).append(nil)) // a reset gets no answer
	f.say((&frame{kind: frameData, opener: true, id: 1, data: []byte("fine")}).append(nil))
	for range 2 {
		c, err := f.l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 10)
		n, err := c.Read(b)
		if id := c.(*conn).key.id; id == 0 && err == nil || id == 1 && string(b[:n]) != "fine" {
			t.Errorf("stream %d: %q, %v", id, b[:n], err)
		}
	}
	if f.s.Bad() != 3 {
		t.Errorf("%d bad frames", f.s.Bad())
	}
}
