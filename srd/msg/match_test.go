package msg

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/ep"
)

// twin is a simple, slow model of the matcher: two lists in order of time.
type twin struct {
	posted     []*receive
	unexpected []*message
}

func (w *twin) arrive(x *message) *receive {
	for i, r := range w.posted {
		if r.match.takes(x.pair.key, x.head.tag) {
			w.posted = slices.Delete(w.posted, i, i+1)
			return r
		}
	}
	w.unexpected = append(w.unexpected, x)
	return nil
}

func (w *twin) find(m Match) *message {
	for _, x := range w.unexpected {
		if m.takes(x.pair.key, x.head.tag) {
			return x
		}
	}
	return nil
}

func (w *twin) remove(x *message) {
	w.unexpected = slices.DeleteFunc(w.unexpected, func(y *message) bool { return y == x })
}

// Whatever the order of messages and receives, the matcher gives the same results as its
// model.
func TestMatcherMatchesItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m matcher
		var w twin
		pairs := []*pair{{key: ep.PublicKey{1}}, {key: ep.PublicKey{2}}, {key: ep.PublicKey{3}}}
		match := func(t *rapid.T) (v Match) {
			if i := rapid.IntRange(-1, 2).Draw(t, "from"); i >= 0 {
				v.From = pairs[i].key
			}
			v.Tag = rapid.Uint64Range(0, 3).Draw(t, "tag")
			v.Ignore = rapid.SampledFrom([]uint64{0, 1, 3, 1 << 63}).Draw(t, "ignore")
			return v
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				x := &message{pair: pairs[rapid.IntRange(0, 2).Draw(t, "pair")]}
				x.head.tag = rapid.Uint64Range(0, 3).Draw(t, "tag")
				if got, want := m.arrive(x, nil), w.arrive(x); got != want {
					t.Fatalf("taken by %p, want %p", got, want)
				}
			},
			"receive": func(t *rapid.T) {
				r := &receive{match: match(t)}
				got, want := m.find(&r.match), w.find(r.match)
				if got != want {
					t.Fatalf("found %p, want %p", got, want)
				}
				if got == nil {
					m.posted, w.posted = append(m.posted, r), append(w.posted, r)
					return
				}
				m.remove(got)
				w.remove(got)
			},
			"peek": func(t *rapid.T) {
				v := match(t)
				if got, want := m.find(&v), w.find(v); got != want {
					t.Fatalf("found %p, want %p", got, want)
				}
			},
			"cancel": func(t *rapid.T) {
				if r := m.cancel(0); r != nil {
					if w.posted[0] != r {
						t.Fatal("it is not the oldest")
					}
					w.posted = slices.Delete(w.posted, 0, 1)
				}
			},
		})
		if !slices.Equal(m.posted, w.posted) {
			t.Fatal("other receives are posted")
		}
	})
}

// A mask excludes bits of the tag from the comparison.
func TestMatchIgnoresBits(t *testing.T) {
	a, b := ep.PublicKey{1}, ep.PublicKey{2}
	for _, x := range []struct {
		m    Match
		from ep.PublicKey
		tag  uint64
		want bool
	}{
		{Match{Tag: 5}, a, 5, true},
		{Match{Tag: 5}, a, 4, false},
		{Match{Tag: 5, Ignore: 1}, a, 4, true},
		{Match{Tag: 5, Ignore: ^uint64(0)}, a, 1 << 63, true},
		{Match{Tag: 1 << 63, Ignore: 1<<63 - 1}, a, 7, false},
		{Match{From: a, Tag: 5}, a, 5, true},
		{Match{From: a, Tag: 5}, b, 5, false},
	} {
		if got := x.m.takes(x.from, x.tag); got != x.want {
			t.Errorf("%+v takes tag %d of %x: %v", x.m, x.tag, x.from[0], got)
		}
	}
}

// Messages that arrive in any order are delivered in order, without exception. This also
// holds if sessions end and the messages in flight fail, and if the receiver restarts.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out, in := orderOut{epoch: 7}, orderIn{}
		type sent struct {
			seq    uint32
			behind byte
			x      *message
		}
		var flying []sent
		var got []uint64
		n, lost := 0, 0
		take := func(run []*message) {
			for _, x := range run {
				got = append(got, x.head.tag)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				for range rapid.IntRange(1, 100).Draw(t, "messages") {
					if out.full() {
						return
					}
					seq, behind := out.take()
					flying = append(flying, sent{seq, behind, &message{head: head{tag: uint64(n)}}})
					n++
				}
			},
			"land": func(t *rapid.T) {
				for range min(len(flying), rapid.IntRange(0, 100).Draw(t, "messages")) {
					i := rapid.IntRange(0, len(flying)-1).Draw(t, "which")
					s := flying[i]
					flying = slices.Delete(flying, i, i+1)
					run, ok := in.admit(out.epoch, s.seq, s.seq-uint32(s.behind), s.x)
					if !ok {
						t.Fatal("an honest message is refused")
					}
					take(run)
					out.done(s.seq)
				}
			},
			"fail": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
					return
				}
				for _, s := range flying {
					out.done(s.seq)
				}
				lost += len(flying)
				flying = nil
				take(in.skip(out.epoch, out.base))
				if len(in.held) > 0 {
					t.Fatalf("%d messages wait for what failed", len(in.held))
				}
			},
			"restart": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					for _, s := range flying {
						out.done(s.seq)
					}
					lost += len(flying) + len(in.held)
					flying, in = nil, orderIn{}
				}
			},
			"": func(t *rapid.T) {
				if !slices.IsSorted(got) {
					t.Fatalf("out of order: %v", got)
				}
				if len(in.held) > orderWindow {
					t.Fatalf("%d are held", len(in.held))
				}
			},
		})
		for _, s := range flying {
			run, _ := in.admit(out.epoch, s.seq, s.seq-uint32(s.behind), s.x)
			take(run)
		}
		if !slices.IsSorted(got) || len(got)+lost != n {
			t.Fatalf("%d of %d came, %d are lost: %v", len(got), n, lost, got)
		}
	})
}

// A failed message that still arrives has no position in the order, and no value of base
// causes an unbounded amount of work.
func TestOrderTakesAnyBase(t *testing.T) {
	in := orderIn{}
	for _, x := range []struct {
		epoch     uint64
		seq, base uint32
		run       int
		ok        bool
	}{
		{1, 5, 4, 0, true},            // 4 may still arrive
		{1, 6, 1 << 31 >> 1, 2, true}, // 4 is not awaited any more: 5 is released, and 6 is late
		{1, 1 << 31, 1<<31 - 1, 0, true},
		{1, 1<<31 + 300, 1<<31 + 60, 1, true}, // a distance that no honest sender uses
		{2, 0, 0, 2, true},                    // another process
		{1, 7, 0, 1, true},                    // a late message of the previous process
		{2, 300, 0, 0, false},
		{2, 1<<32 - 1, 0, 1, true}, // late
	} {
		run, ok := in.admit(x.epoch, x.seq, x.base, &message{})
		if len(run) != x.run || ok != x.ok {
			t.Errorf("%+v: %d messages, %v", x, len(run), ok)
		}
	}
	if run := in.skip(1, 1<<20); len(run) > 0 {
		t.Error("a skip of another epoch")
	}
}
