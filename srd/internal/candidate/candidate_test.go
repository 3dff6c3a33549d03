package candidate

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	first = 100 * time.Millisecond
	small = 49 // bytes of the smallest challenge
)

func addr(n int) netip.Addr { return netip.AddrFrom4([4]byte{192, 0, byte(n >> 8), byte(n)}) }

// on is a tuple: an address and a port.
type on struct{ addr, port int }

// heard is a table with the simulated arrival of packets.
type heard struct {
	Table[on]
	now    mono.Time
	proven map[netip.Addr]bool
}

func newHeard() *heard { return &heard{now: mono.Time(time.Hour), proven: map[netip.Addr]bool{}} }

func (h *heard) trusts(a netip.Addr) bool { return h.proven[a] }

func (h *heard) hear(t on, n int) *Candidate[on] {
	h.Earn(h.now, addr(t.addr), n, h.trusts)
	return h.Hear(h.now, t, addr(t.addr), first)
}

func (h *heard) next() *Candidate[on] { return h.Next(h.now, small, first, h.trusts) }

// asked lets d pass, and returns how many challenges each address gets.
func (h *heard) asked(d time.Duration, each func()) map[int]int {
	n := map[int]int{}
	for end := h.now.Add(d); h.now < end; h.now = h.now.Add(time.Millisecond) {
		each()
		for k := h.next(); k != nil; k = h.next() {
			n[k.Tuple.addr]++
		}
	}
	return n
}

// Whatever packets arrive and are sent, on however many ports: an unproven address gets at most
// three times the bytes received from it, and the table stays within its bounds.
func TestAmplificationLimit(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		h := newHeard()
		came, went := map[int]int{}, map[int]int{}
		for range rapid.IntRange(1, 300).Draw(r, "steps") {
			h.now = h.now.Add(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(r, "wait")))
			a := rapid.IntRange(0, 100).Draw(r, "address")
			if rapid.Bool().Draw(r, "one") {
				a = 0
			}
			switch rapid.IntRange(0, 3).Draw(r, "verb") {
			case 0, 1:
				n := rapid.IntRange(32, 9000).Draw(r, "size")
				came[a] += n
				h.hear(on{a, rapid.IntRange(0, 60).Draw(r, "port")}, n)
			case 2:
				n := rapid.IntRange(1, 3000).Draw(r, "bytes")
				if h.Spend(addr(a), n) {
					went[a] += n
				}
			case 3:
				for k := h.next(); k != nil; k = h.next() {
					went[k.Tuple.addr] += small
				}
				if at := h.When(small, h.trusts); at <= h.now {
					r.Fatalf("a challenge is due at %v, and none was sent", at)
				}
			}
			if went[a] > Amplification*came[a] {
				r.Fatalf("%d bytes to an address that %d came from", went[a], came[a])
			}
			if err := h.Within(); err != nil {
				r.Fatal(err)
			}
		}
	})
}

// The rate of challenges is limited for each address, not for each port, and the interval
// doubles.
func TestManyPortsOfOneAddress(t *testing.T) {
	h := newHeard()
	port := 0
	n := h.asked(7*time.Second, func() {
		port++
		h.hear(on{1, port % 20}, 1400)
	})
	if n[1] < 4 || n[1] > 10 {
		t.Errorf("%d challenges in 7 s", n[1])
	}
}

// If no more packets arrive, the challenges end.
func TestChallengesEnd(t *testing.T) {
	for _, proven := range []bool{false, true} {
		h := newHeard()
		h.proven[addr(1)] = proven
		for port := range 20 {
			h.hear(on{1, port}, 9000)
		}
		n := h.asked(Life, func() {})
		want := Tries
		if proven {
			want = 20 * Tries
		}
		if n[1] != want || h.When(small, h.trusts) != mono.Never {
			t.Errorf("proven %v: %d challenges, then the next at %v", proven, n[1], h.When(small, h.trusts))
		}
	}
}

// One keepalive of a peer that has moved gives enough credit for the response and a challenge.
func TestKeepalivePays(t *testing.T) {
	h := newHeard()
	h.hear(on{1, 1}, small)
	if !h.Spend(addr(1), small) || h.next() == nil {
		t.Error("the smallest packet does not pay for an answer and a challenge")
	}
}

// When one port of an address is proven, the other ports no longer share the rate of one
// candidate.
func TestPortsOfAProvenAddress(t *testing.T) {
	h := newHeard()
	for port := range Most {
		h.hear(on{1, port}, 1400)
	}
	if h.next() == nil || h.next() != nil {
		t.Fatal("not one challenge to an unproven address")
	}
	h.proven[addr(1)] = true
	h.Recheck()
	n := 0
	for ; h.next() != nil; n++ {
	}
	if n != Most-1 {
		t.Errorf("%d ports are challenged", n)
	}
}

// The peer has left an address before some of its ports were proven, and returns to it. It is
// challenged at once, whether or not Next() was called in between.
func TestComesBackToAnAddress(t *testing.T) {
	for _, asked := range []bool{true, false} {
		h := newHeard()
		h.proven[addr(1)] = true
		for port := range 5 {
			h.hear(on{1, port}, 1400)
		}
		h.asked(50*time.Millisecond, func() {})
		h.proven[addr(1)] = false
		h.Recheck()
		if asked {
			if n := h.asked(time.Second, func() {}); n[1] != 0 {
				t.Errorf("%d challenges to where the peer is not any more", n[1])
			}
		}
		h.hear(on{1, 9}, small)
		if h.next() == nil {
			t.Errorf("not challenged at once; asked %v", asked)
		}
	}
}

// An observer floods the table. If the flood comes from a few addresses, the peer's new address
// gets an entry at once. If it comes from very many, the new address gets an entry when the wait
// of the first candidates is over.
func TestRoomIsFair(t *testing.T) {
	for _, addrs := range []int{1, 5, Most / 2, 1000} {
		h := newHeard()
		port := 0
		flood := func() {
			port++
			h.hear(on{2 + port%addrs, port}, 1400)
		}
		h.asked(50*time.Millisecond, flood)
		if h.Len() != Most {
			t.Fatalf("%d candidates", h.Len())
		}
		in := h.hear(on{1, 1}, 1400) != nil
		for ms := 0; !in && addrs > Most/2 && ms < 400; ms++ {
			h.asked(time.Millisecond, flood)
			in = h.hear(on{1, 1}, 1400) != nil
		}
		if !in {
			t.Errorf("flood from %d addresses: no room for another", addrs)
		}
		// The entry is kept until its response can arrive.
		h.asked(first-2*time.Millisecond, flood)
		if h.Find(on{1, 1}) == nil {
			t.Errorf("flood from %d addresses: it is pushed out before it can answer", addrs)
		}
	}
}

// A peer opens more ports than the table has entries. They do not replace each other before any
// of them could respond.
func TestPortsTakeTurns(t *testing.T) {
	h := newHeard()
	h.proven[addr(1)] = true
	answered := map[int]bool{}
	due := map[mono.Time]wire.Secret{}
	serial := byte(0)
	for port := 0; len(answered) < 128; port++ {
		if port > 3000 {
			t.Fatalf("%d of 128 ports have answered", len(answered))
		}
		h.now = h.now.Add(time.Millisecond)
		if !answered[port%128] {
			h.hear(on{1, port % 128}, 1400)
		}
		for k := h.next(); k != nil; k = h.next() {
			serial++
			k.Secret = wire.Secret{serial, byte(k.Tuple.port), 1}
			due[h.now.Add(50*time.Millisecond)] = k.Secret
		}
		if s, ok := due[h.now]; ok {
			if k := h.Answer(h.now, &s); k != nil {
				answered[k.Tuple.port] = true
				h.Remove(k.Tuple)
			}
		}
	}
}

// Only a candidate to which a secret was sent can be proven.
func TestNobodyProvesItselfUnasked(t *testing.T) {
	h := newHeard()
	h.hear(on{1, 1}, 100)
	if h.Answer(h.now, &wire.Secret{}) != nil {
		t.Error("a candidate that was never asked is proven")
	}
	k := h.next()
	k.Secret = wire.Secret{1, 2}
	if h.Answer(h.now, &wire.Secret{1, 3}) != nil || h.Answer(h.now, &wire.Secret{1, 2}) != k || !k.Proven() {
		t.Error("the secret does not prove who was sent it")
	}
}

// Unproven candidates do not replace a proven one that waits. The wait is not part of its round
// trip.
func TestProvenWaits(t *testing.T) {
	h := newHeard()
	h.hear(on{1, 1}, 100)
	k := h.next()
	k.Secret = wire.Secret{1}
	const trip = 12 * time.Millisecond
	h.now = h.now.Add(trip)
	h.Answer(h.now, &wire.Secret{1})
	port := 0
	h.asked(5*time.Second, func() {
		port++
		h.hear(on{2 + port%40, port}, 1400)
	})
	w := h.Waiting(h.now)
	if w == nil || w.Tuple != (on{1, 1}) {
		t.Fatalf("waiting: %v", w)
	}
	if w.RTT() != trip {
		t.Errorf("round trip %v, want %v", w.RTT(), trip)
	}
}

// A response does not prove that a large challenge passes, whether the large one was sent last
// or first: the small one had the same secret.
func TestAnswerProvesTheSmallestChallenge(t *testing.T) {
	for _, sizes := range [][]int{{small, 1200}, {1200, small}, {1400, 1200, 1300}} {
		h := newHeard()
		k := h.hear(on{1, 1}, 1400)
		k.Secret = wire.Secret{1}
		for _, n := range sizes {
			k.Asked(h.now, n, time.Millisecond)
		}
		if k = h.Answer(h.now, &wire.Secret{1}); k == nil || k.Size() != slices.Min(sizes) {
			t.Errorf("challenges of %d bytes: proven %v", sizes, k)
		}
	}
}
