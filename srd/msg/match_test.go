package msg

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/ep"
)

// twin is a matcher that is slow and obvious: two lists in order of time.
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

// Whatever comes and is posted in whatever order, the matcher decides as its twin.
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

// A mask takes bits out of the comparison.
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

// Messages in any order of arrival come out in order, and all of them, also over a failure.
func TestOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		out, in := orderOut{epoch: 7}, orderIn{}
		type sent struct {
			epoch uint64
			seq   uint32
			x     *message
		}
		var flying []sent
		var got []uint64
		var n uint64
		failed := map[uint64]bool{}
		land := func(t *rapid.T, i int) {
			s := flying[i]
			flying = slices.Delete(flying, i, i+1)
			run, ok := in.admit(s.epoch, s.seq, s.x)
			if !ok {
				t.Fatal("an honest message is refused")
			}
			for _, x := range run {
				got = append(got, x.head.tag)
			}
			out.done(s.epoch, s.seq, true)
		}
		t.Repeat(map[string]func(*rapid.T){
			"send": func(t *rapid.T) {
				if out.full() {
					return
				}
				e, s := out.take()
				x := &message{head: head{tag: n}}
				n++
				flying = append(flying, sent{e, s, x})
			},
			"land": func(t *rapid.T) {
				if len(flying) > 0 {
					land(t, rapid.IntRange(0, len(flying)-1).Draw(t, "which"))
				}
			},
			// A session ends: all that is under way fails.
			"fail": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") > 0 {
					return
				}
				for _, s := range flying {
					failed[s.x.head.tag] = true
					out.done(s.epoch, s.seq, false)
				}
				flying = nil
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
		for len(flying) > 0 {
			land(t, len(flying)-1)
		}
		e, s := out.take()
		flying = append(flying, sent{e, s, &message{head: head{tag: n}}})
		land(t, 0)
		if !slices.IsSorted(got) || len(got)+len(failed) != int(n)+1 {
			t.Fatalf("%d of %d came, %d failed: %v", len(got), n+1, len(failed), got)
		}
	})
}
