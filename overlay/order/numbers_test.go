package order

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/srdtun/srdtun/overlay/frame"
)

// goOn returns the script of a process that goes on after another.
func (s *script) goOn(t *testing.T, cfg Config) *script {
	v := s.g.Suspend(s.now)
	b := AppendNumbers(nil, v)
	got, rest, ok := ParseNumbers(b)
	if !ok || len(rest) > 0 || !reflect.DeepEqual(got, v) {
		t.Fatalf("%v was written, %v read", v, got)
	}
	next := newScript(t, cfg)
	next.now = s.now
	next.g.Resume(got)
	return next
}

// Flows go on in another process without a wait; what was missing comes late, and what was
// handed on comes no second time.
func TestNumbersGoOn(t *testing.T) {
	s := newScript(t, Config{})
	s.whole(0, 1, 4, 5)
	s.add(piece(0, 7, 0, 3, 8)) // never completed
	s.want(0, 1)
	next := s.goOn(t, Config{})
	s.want(4, 5)
	if n := s.g.Stats().Voided; n != 1 {
		t.Errorf("%d frames were dropped", n)
	}
	next.whole(8, 9)
	next.want(8, 9)
	next.whole(2, 3)
	next.want(2, 3)
	next.whole(10)
	next.want(10)
	if st := next.g.Stats(); st.Late != 2 || st.HeldNow != 0 {
		t.Errorf("%+v", st)
	}
}

func TestNumbersGoOnRoundTheEnd(t *testing.T) {
	s := newScript(t, Config{})
	s.g.Resume([]Number{{0, 1<<32 - 2}})
	s.whole(1<<32-2, 1)
	s.want((1<<32 - 2) % 1000)
	next := s.goOn(t, Config{})
	s.want(1)
	next.whole(2)
	next.want(2)
}

func TestCutterGoesOn(t *testing.T) {
	var c Segmenter
	load := func(flow uint32) {
		c.Load(frame.New(make([]byte, 100), func(*frame.Frame) {}))
		c.frame.Flow = flow
		for !c.Empty() {
			m := c.Cut(1000)
			m.Owner.(*frame.Frame).Release()
		}
	}
	load(0)
	load(0)
	c.Load(frame.New(make([]byte, 100), func(*frame.Frame) {})) // half cut
	m := c.Cut(60)
	m.Owner.(*frame.Frame).Release()
	v := c.Suspend()
	if !c.Empty() || !reflect.DeepEqual(v, []Number{{0, 3}}) {
		t.Errorf("%v", v)
	}
	c = Segmenter{}
	c.Resume(v)
	c.Load(frame.New(make([]byte, 100), func(*frame.Frame) {}))
	if c.h.seq != 3 {
		t.Errorf("goes on with %d", c.h.seq)
	}
	c.Reset()
}

func FuzzNumbers(f *testing.F) {
	f.Add(AppendNumbers(nil, []Number{{0, 5}, {4095, 1 << 31}}))
	f.Add([]byte{0xff, 0xff, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		v, rest, ok := ParseNumbers(b)
		if !ok {
			return
		}
		if again := append(AppendNumbers(nil, v), rest...); !bytes.Equal(again, b) {
			t.Fatalf("%x became %x", b, again)
		}
		new(Segmenter).Resume(v)
		NewReassembler(Config{}).Resume(v)
	})
}
