// Package seq holds the number-space helpers of the transport: the sliding
// window of numbers that have been seen, and the expansion of truncated ones.
package seq

import "math/bits"

// Expand returns the 64-bit number nearest to reference whose low 32 bits are
// low.
func Expand(low uint32, reference uint64) uint64 {
	d := int32(low - uint32(reference))
	n := reference + uint64(int64(d))
	if d < 0 && uint64(-int64(d)) > reference {
		return reference + uint64(int64(d)) + 1<<32
	}
	return n
}

// Replay remembers which of the last ReplaySize packet numbers have been seen
// (RFC 6479: a ring of words, so that advancing clears whole words). The ring
// grows with what it has to remember: a path that carries nothing but a few
// challenges takes some bytes. It is not safe for concurrent use.
type Replay struct {
	words []uint64 // by word number, modulo their count, a power of two
	low   uint64   // lowest word number that has a place
	floor uint64   // words from here up to low are all fresh, those below are not
	next  uint64   // one more than the highest number seen
}

// ReplaySize is how far behind the highest packet number one may still be
// accepted. A path is first-in-first-out, so only a change of the receiving
// core or a train cut in pieces reorders it. It is a word short of replayWords,
// because the highest number's word is seldom full.
const ReplaySize = 16384 - 64

// The ring's sizes, in words.
const (
	replayWords  = 256
	replayWords0 = 4 // as many packets as an idle path gets with its challenges
)

const _ = uint(replayWords*64 - 64 - ReplaySize)

// Next returns one more than the highest number set, 0 when none was.
func (r *Replay) Next() uint64 { return r.next }

func (r *Replay) word(w uint64) *uint64 { return &r.words[w&uint64(len(r.words)-1)] }

// Fresh reports whether n has neither been set nor fallen out of the window.
func (r *Replay) Fresh(n uint64) bool {
	switch {
	case n >= r.next:
		return n != 1<<64-1
	case r.next-n > ReplaySize:
		return false
	case n/64 < r.low:
		return n/64 >= r.floor
	}
	return *r.word(n / 64)&(1<<(n%64)) == 0
}

// Set marks n. It reports whether n was fresh.
func (r *Replay) Set(n uint64) bool {
	if !r.Fresh(n) {
		return false
	}
	w := n / 64
	switch {
	case r.words == nil:
		r.words, r.low, r.next = make([]uint64, replayWords0), w, n+1
	case n >= r.next:
		r.advance(w)
		r.next = n + 1
	case w < r.low:
		r.reach(w)
	}
	*r.word(w) |= 1 << (n % 64)
	return true
}

// advance makes w, not below the highest word so far, the highest.
func (r *Replay) advance(w uint64) {
	was := (r.next - 1) / 64
	if w-r.low >= uint64(len(r.words)) && len(r.words) < replayWords {
		r.grow(r.low, w)
	}
	size := uint64(len(r.words))
	for i := was + 1; i <= w && i <= was+size; i++ {
		*r.word(i) = 0
	}
	if w-r.low >= size {
		r.low = w - size + 1
	}
}

// Rest makes the ring small again, for a path that is not used any more. Of the
// numbers so far only the latest are still fresh afterwards, if they were.
func (r *Replay) Rest() {
	if len(r.words) <= replayWords0 {
		return
	}
	old, high := *r, (r.next-1)/64
	r.words = make([]uint64, replayWords0)
	r.low = max(r.low, high-min(high, replayWords0-1))
	r.floor = r.low
	for w := r.low; w <= high; w++ {
		*r.word(w) = *old.word(w)
	}
}

// reach makes w, which is below all words but in the window, the lowest.
func (r *Replay) reach(w uint64) {
	high := (r.next - 1) / 64
	if high-w >= uint64(len(r.words)) {
		r.grow(w, high)
	}
	for i := w; i < r.low; i++ {
		*r.word(i) = 0
	}
	r.low = w
}

// grow makes room for the words from low to high, or for as many as there may
// be. What there is of them stays.
func (r *Replay) grow(low, high uint64) {
	size := uint64(len(r.words))
	for high-low >= size && size < replayWords {
		size *= 2
	}
	old := *r
	r.words = make([]uint64, size)
	for w := old.low; w <= (old.next-1)/64; w++ {
		*r.word(w) = *old.word(w)
	}
}

// Below returns which of the 64 numbers under h have been set: bit i is h-1-i. Those
// that fell out of the window count as not set. It must not be called before the first
// Set, nor with h beyond the highest.
func (r *Replay) Below(h uint64) uint64 {
	w, s := h/64, h%64
	var v uint64
	if s > 0 && w >= r.low {
		v = bits.Reverse64(*r.word(w) << (64 - s))
	}
	if w > r.low {
		v |= bits.Reverse64(*r.word(w - 1)) << s
	}
	return v
}

// Last returns the highest number under n, but not under from, that has been set and has
// not fallen out of the window. n must not be beyond the highest.
func (r *Replay) Last(from, n uint64) (uint64, bool) {
	for from = max(from, r.low*64); n > from; {
		w := (n - 1) / 64
		if v := *r.word(w) << (63 - (n-1)%64); v != 0 {
			n -= 1 + uint64(bits.LeadingZeros64(v))
			return n, n >= from
		}
		n = w * 64
	}
	return 0, false
}

// WindowSize is how far above the first missing message a message number may
// be: twice what a sender may have in flight, so that a retransmission of
// anything still unacknowledged is recognised (docs/design.md, "Three number spaces").
const WindowSize = 32768

// Window is the receiver's memory of message numbers: everything below
// FirstMissing has been seen, and some above. It takes memory on first use.
// The zero value expects message 0 first.
type Window struct {
	first uint64 // first missing
	above uint64 // one more than the highest seen, or first
	words []uint64
}

const windowWords = WindowSize / 64

// FirstMissing returns the lowest number not seen.
func (w *Window) FirstMissing() uint64 { return w.first }

// Highest returns one more than the highest number seen.
func (w *Window) Highest() uint64 { return max(w.first, w.above) }

// Verdict on a number.
type Verdict uint8

// What Set can say.
const (
	New       Verdict = iota // seen now for the first time
	Duplicate                // seen before
	TooFar                   // beyond the window; not remembered
)

// Set marks n as seen.
func (w *Window) Set(n uint64) Verdict {
	if n < w.first {
		return Duplicate
	}
	if n-w.first >= WindowSize {
		return TooFar
	}
	if w.words == nil {
		w.words = make([]uint64, windowWords)
	}
	p, b := &w.words[n/64%windowWords], uint64(1)<<(n%64)
	if *p&b != 0 {
		return Duplicate
	}
	*p |= b
	w.above = max(w.above, n+1)
	for w.first < w.above && w.take() {
	}
	return New
}

// take moves first over the run of ones at it, one word at a time, clearing
// what it passes. It reports whether the whole rest of the word was ones.
func (w *Window) take() bool {
	p, s := &w.words[w.first/64%windowWords], w.first%64
	run := uint64(bits.TrailingZeros64(^(*p >> s)))
	run = min(run, 64-s)
	if run == 64 {
		*p = 0
	} else {
		*p &^= (1<<run - 1) << s
	}
	w.first += run
	return run == 64-s
}

// Rest gives the memory back if nothing is missing. Numbers go on.
func (w *Window) Rest() {
	if w.above <= w.first {
		w.words = nil // they are all zero
	}
}

// Words fills dst with the bitmap that starts one above the first missing
// number and returns how many words it takes to reach the highest seen, at
// most len(dst).
func (w *Window) Words(dst []uint64) int {
	if w.above <= w.first {
		return 0
	}
	n := min(len(dst), int((w.above-w.first-1+63)/64))
	for i := range n {
		dst[i] = w.word(w.first + 1 + uint64(i)*64)
	}
	return n
}

// word returns the 64 bits that start at number n. Bits beyond the window are
// those of the numbers just passed, which are zero.
func (w *Window) word(n uint64) uint64 {
	s := n % 64
	v := w.words[n/64%windowWords] >> s
	if s > 0 {
		v |= w.words[(n/64+1)%windowWords] << (64 - s)
	}
	return v
}
