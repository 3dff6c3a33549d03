// Package seq has sliding windows of received packet and message numbers, and the
// expansion of truncated numbers.
package seq

import "math/bits"

// Expand returns the 64-bit number nearest to `reference` with these low 32 bits.
func Expand(low uint32, reference uint64) uint64 {
	d := int32(low - uint32(reference))
	n := reference + uint64(int64(d))
	if d < 0 && uint64(-int64(d)) > reference {
		return reference + uint64(int64(d)) + 1<<32
	}
	return n
}

// Replay stores which of the last ReplaySize packet numbers have been received. As in RFC
// 6479, it is a ring of words, and advancing the window clears whole words. The ring grows on
// demand, so an idle path with a few challenges needs few bytes. A Replay is not safe for
// concurrent use.
type Replay struct {
	words []uint64 // indexed by word number modulo their count, a power of two
	low   uint64   // lowest word number in the ring
	floor uint64   // the numbers of the words from floor up to low are fresh, lower numbers are not
	next  uint64   // one more than the highest number seen
}

// ReplaySize is the distance below the highest packet number up to which a packet is accepted.
// A path keeps packets in order, except when the receiving core changes or a train is split.
// ReplaySize is one word less than replayWords, because the word of the highest number is
// seldom full.
const ReplaySize = 16384 - 64

const (
	replayWords  = 256
	replayWords0 = 4 // enough for the challenges of an idle path
)

const _ = uint(replayWords*64 - 64 - ReplaySize)

// Next returns one more than the highest number set, or 0 before the first Set.
func (r *Replay) Next() uint64 { return r.next }

func (r *Replay) word(w uint64) *uint64 { return &r.words[w&uint64(len(r.words)-1)] }

// Fresh reports whether n is inside or above the window and has not been set.
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

// Set marks n as received, and reports whether n was fresh.
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

// advance makes word number w the highest word of the ring. It must not be below the present
// highest word.
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

// Rest reduces the ring of an unused path to replayWords0 words. All numbers below the
// kept words count as received.
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

// reach makes word number w the lowest word of the ring. It must be inside the window, and
// below all other words of the ring.
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

// grow enlarges the ring for the words from `low` to `high`, up to replayWords words. The
// present words are kept.
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

// Below returns which of the 64 numbers under h have been set: bit i stands for h-1-i. Numbers
// below the window count as not set here. Below may be called only after the first Set, with h
// at most the highest number set.
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

// Last returns the highest number in [from, n) that has been set and is still in the window. The
// argument n must not exceed the highest number seen.
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

// WindowSize is the number of message numbers that a Window accepts, from the first missing
// number on. A sender may have half as many messages in flight, so every duplicate is detected
// (docs/design.md, "Three number spaces").
const WindowSize = 32768

// Window stores the message numbers that a receiver has seen: all numbers below FirstMissing,
// and some above. The first Set allocates the memory. In the zero value the first missing
// number is 0.
type Window struct {
	first uint64 // first missing
	above uint64 // one more than the highest number seen; otherwise `first` or less
	words []uint64
}

const windowWords = WindowSize / 64

// FirstMissing returns the lowest number not seen.
func (w *Window) FirstMissing() uint64 { return w.first }

// Highest returns one more than the highest number seen.
func (w *Window) Highest() uint64 { return max(w.first, w.above) }

// Verdict is the result of Set.
type Verdict uint8

// The verdicts.
const (
	New       Verdict = iota // seen now for the first time
	Duplicate                // seen before
	TooFar                   // beyond the window, so not stored
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

// take advances `first` over the run of set bits that begins at it, but not beyond the end of
// the word, and clears these bits. The result is true if the run reached the end of the word.
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

// Rest frees the memory if no number is missing. The message numbers continue.
func (w *Window) Rest() {
	if w.above <= w.first {
		w.words = nil // all words are zero
	}
}

// Words fills dst with the bitmap of received numbers, which begins one above the first
// missing number. It returns the number of words up to the highest number seen, at most
// len(dst).
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

// word returns the 64 bits that start at number n. Bits beyond the window are zero,
// because the words of passed numbers are cleared.
func (w *Window) word(n uint64) uint64 {
	s := n % 64
	v := w.words[n/64%windowWords] >> s
	if s > 0 {
		v |= w.words[(n/64+1)%windowWords] << (64 - s)
	}
	return v
}
