package ledger

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

// twin stores all entries in a map.
type twin struct {
	packets     map[uint64]Packet
	first, next uint64
}

func (w *twin) push(p Packet) uint64 {
	w.packets[w.next] = p
	w.next++
	return w.next - 1
}

func (w *twin) trim() {
	for w.first < w.next && w.packets[w.first].State != InFlight {
		delete(w.packets, w.first)
		w.first++
	}
}

func TestLedgerAgainstItsTwin(t *testing.T) {
	states := rapid.SampledFrom([]State{Silent, Skipped, InFlight, InFlight, InFlight})
	fates := rapid.SampledFrom([]State{Acked, Lost})
	rapid.Check(t, func(t *rapid.T) {
		var l Ledger
		w := twin{packets: map[uint64]Packet{}}
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "verb") {
			case 0, 1:
				for j := range rapid.SampledFrom([]int{1, 2, 15, 16, 17, 40}).Draw(t, "run") {
					p := Packet{At: mono.Time(i), First: uint64(i*100 + j), N: 2, Left: 2, Size: uint16(j), State: states.Draw(t, "state")}
					if got, want := l.Push(p), w.push(p); got != want {
						t.Fatalf("Push gave %d, want %d", got, want)
					}
				}
			case 2:
				from := w.first + rapid.Uint64Range(0, 5).Draw(t, "from")
				for pn := from; pn < from+rapid.Uint64Range(0, 60).Draw(t, "settled"); pn++ {
					if p, ok := w.packets[pn]; ok {
						p.State = fates.Draw(t, "fate")
						w.packets[pn], l.At(pn).State = p, p.State
					}
				}
			case 3:
				l.Trim(func(p *Packet) bool { return p.State != InFlight })
				w.trim()
			}
			wantSame(t, &l, &w)
		}
	})
}

func wantSame(t *rapid.T, l *Ledger, w *twin) {
	if l.First() != w.first || l.Next() != w.next {
		t.Fatalf("remembers %d to %d, want %d to %d", l.First(), l.Next(), w.first, w.next)
	}
	for pn := w.first - min(w.first, 70); pn < w.next+70; pn++ {
		got := l.At(pn)
		if want, ok := w.packets[pn]; ok != (got != nil) || ok && *got != want {
			t.Fatalf("At(%d) = %+v, want %+v", pn, got, want)
		}
	}
}

// Full() becomes true while there is still room for packets that are sent without a call of
// Full().
func TestLedgerFull(t *testing.T) {
	var l Ledger
	for !l.Full() {
		l.Push(Packet{State: InFlight})
	}
	if n := l.Next() - l.First(); n >= Limit || len(l.ring) > Limit {
		t.Fatalf("%d packets in a ring of %d, full at %d", n, len(l.ring), Limit)
	}
	l.Trim(func(p *Packet) bool { return true })
	if l.Full() || l.First() != l.Next() || l.At(l.Next()-1) != nil {
		t.Fatal("not empty after everything was settled")
	}
}

// If a ledger is trimmed while it is filled, its ring grows only with the number of
// entries.
func TestLedgerStaysSmall(t *testing.T) {
	var l Ledger
	for range 100_000 {
		l.Push(Packet{State: Acked})
		l.Trim(func(p *Packet) bool { return p.State != InFlight })
	}
	if len(l.ring) > 16 {
		t.Fatalf("a ring of %d for nothing open", len(l.ring))
	}
}

func TestLedgerDoesNotAllocate(t *testing.T) {
	var l Ledger
	for range 10 {
		l.Push(Packet{State: InFlight})
	}
	if a := testing.AllocsPerRun(1000, func() {
		l.Push(Packet{State: InFlight})
		l.At(l.First()).State = Acked
		l.Trim(func(p *Packet) bool { return p.State != InFlight })
	}); a != 0 {
		t.Fatalf("%v allocations", a)
	}
}
