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

// Replay remembers which of the last size packet numbers have been seen
// (RFC 6479: a ring of words, so that advancing clears whole words). It takes
// memory on the first Set. It is not safe for concurrent use.
type Replay struct {
	words []uint64
	next  uint64 // one more than the highest number seen
}

// ReplaySize is how far behind the highest packet number one may still be
// accepted. A path is first-in-first-out, so only a change of the receiving
// core or a train cut in pieces reorders it; a power of two.
const ReplaySize = 16384

const replayWords = ReplaySize/64 + 1

// Next returns one more than the highest number set, 0 when none was.
func (r *Replay) Next() uint64 { return r.next }

// Fresh reports whether n has neither been set nor fallen out of the window.
func (r *Replay) Fresh(n uint64) bool {
	if n >= r.next {
		return n != 1<<64-1
	}
	if r.next-n > ReplaySize {
		return false
	}
	return r.words[n/64%replayWords]&(1<<(n%64)) == 0
}

// Set marks n. It reports whether n was fresh.
func (r *Replay) Set(n uint64) bool {
	if !r.Fresh(n) {
		return false
	}
	if r.words == nil {
		r.words = make([]uint64, replayWords)
	}
	if n >= r.next {
		r.advance(n)
	}
	r.words[n/64%replayWords] |= 1 << (n % 64)
	return true
}

func (r *Replay) advance(n uint64) {
	was, is := r.lastWord(), n/64
	if r.next == 0 {
		r.next = n + 1
		return
	}
	for i := was + 1; i <= is && i <= was+replayWords; i++ {
		r.words[i%replayWords] = 0
	}
	r.next = n + 1
}

func (r *Replay) lastWord() uint64 { return (r.next - 1) / 64 }

// Below returns which of the 64 numbers under the highest have been set: bit i
// is highest-1-i. It must not be called before the first Set.
func (r *Replay) Below() uint64 {
	h := r.next - 1
	w, s := h/64, h%64
	var v uint64
	if s > 0 {
		v = bits.Reverse64(r.words[w%replayWords] << (64 - s))
	}
	if w > 0 {
		v |= bits.Reverse64(r.words[(w-1)%replayWords]) << s
	}
	return v
}

// WindowSize is how far above the first missing message a message number may
// be: twice what a sender may have in flight, so that a retransmission of
// anything still unacknowledged is recognised (DESIGN: exactly once).
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
