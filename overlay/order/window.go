package order

import "math/bits"

// maxAhead is how many frames of one slot may be there beyond the one that is due:
// 40 ms of 200,000 small packets a second.
const maxAhead = 8192

// A window has a place for each of the maxAhead numbers from the one that is due on:
// pages places in pagePlaces at a time, which take memory while something is in them.
// One frame takes a page, wherever its number lies, and the lowest that is there is found
// by two looks at bitmaps: neither costs a peer that numbers its frames at random more
// than one that does not.
const (
	pagePlaces  = 64
	windowPages = maxAhead / pagePlaces
)

// window is a ring: the index of a frame is its number modulo maxAhead.
type window struct {
	some  [windowPages / 64]uint64 // bit i: there is page i
	pages [windowPages]*page
}

// page is never empty while it is in a window.
type page struct {
	some uint64 // bit i: there is something at i
	at   [pagePlaces]*partial
}

// get returns what is at seq, or nil.
func (w *window) get(seq uint32) *partial {
	if pg := w.pages[seq/pagePlaces%windowPages]; pg != nil {
		return pg.at[seq%pagePlaces]
	}
	return nil
}

// first returns the lowest number, from seq on, at which there is something.
func (w *window) first(seq uint32) (lowest uint32, ok bool) {
	from := seq / pagePlaces % windowPages
	if pg := w.pages[from]; pg != nil {
		if rest := pg.some >> (seq % pagePlaces); rest != 0 {
			return seq + uint32(bits.TrailingZeros64(rest)), true
		}
	}
	i, ok := w.firstPage((from + 1) % windowPages)
	if !ok {
		return 0, false
	}
	// Of the page that seq itself is in, only what lies a whole window later is left.
	at := i*pagePlaces + uint32(bits.TrailingZeros64(w.pages[i].some))
	return seq + (at-seq)%maxAhead, true
}

// firstPage returns the first page there is, from page i on and round to the one before.
func (w *window) firstPage(i uint32) (uint32, bool) {
	const words = uint32(len(w.some))
	if v := w.some[i/64] >> (i % 64); v != 0 {
		return i + uint32(bits.TrailingZeros64(v)), true
	}
	for k := uint32(1); k <= words; k++ {
		word := (i/64 + k) % words
		if v := w.some[word]; v != 0 {
			return word*64 + uint32(bits.TrailingZeros64(v)), true
		}
	}
	return 0, false
}
