package order

import "math/bits"

// maxAhead bounds how far a frame may be ahead of the next frame of its slot. It allows for 40 ms
// of packets at 200,000 packets a second.
const maxAhead = 8192

// A window has an entry for each of the next maxAhead frame numbers of a flow. A page of pagePlaces
// entries takes memory only while it contains a frame. Each frame needs at most one page, and two
// bitmaps show where the lowest frame is. So finding a frame takes the same time for random frame
// numbers as for consecutive ones.
const (
	pagePlaces  = 64
	windowPages = maxAhead / pagePlaces
)

// window is a ring, in which the index of a frame is its number modulo maxAhead.
type window struct {
	some  [windowPages / 64]uint64 // bit i: page i exists
	pages [windowPages]*page
}

// page is a part of a window with at least one frame.
type page struct {
	some uint64 // bit i: entry i has a frame
	at   [pagePlaces]*partial
}

func (w *window) get(seq uint32) *partial {
	if pg := w.pages[seq/pagePlaces%windowPages]; pg != nil {
		return pg.at[seq%pagePlaces]
	}
	return nil
}

// first returns the lowest occupied frame number from seq on.
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
	// In the page of seq, an entry at an index before seq's belongs to a number of the next round
	// of the ring.
	at := i*pagePlaces + uint32(bits.TrailingZeros64(w.pages[i].some))
	return seq + (at-seq)%maxAhead, true
}

// firstPage returns the first existing page, in a search that starts at page i and wraps around.
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
