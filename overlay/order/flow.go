package order

// Bounds of the rings.
const (
	// maxAhead is how many frames of one slot may be there beyond the one that
	// is due: 40 ms of 200,000 small packets a second.
	maxAhead = 8192
	// minRing is the first size of a ring: a few paths' worth of frames.
	minRing = 4
	// keepRing is the largest ring that an empty flow keeps. It covers everyday
	// reordering, so that this takes no memory each time.
	keepRing = 256
	// maxRings bounds the places in the rings of all flows, 8 bytes each: a peer
	// that lies about its numbers gets 16 MB, and what idle flows keep is at most
	// half of it.
	maxRings = 2 * Slots * keepRing
)

// flow is one slot's receiving state: the number of the frame that is due, and a
// ring of those that are there, whole or in part, from it on.
type flow struct {
	next  uint32
	ring  []*partial // a power of two; index is seq modulo its length
	count int        // in use in ring
	late  []*partial // frames whose turn has passed, still incomplete, oldest first
}

func (fl *flow) place(seq uint32) **partial { return &fl.ring[int(seq)&(len(fl.ring)-1)] }

// get returns what is there of frame seq, which is less than maxAhead from due,
// or nil.
func (fl *flow) get(seq uint32) *partial {
	if fl.count == 0 || int(seq-fl.next) >= len(fl.ring) {
		return nil
	}
	return *fl.place(seq)
}

// reaches reports whether the ring has a place for frame seq.
func (fl *flow) reaches(seq uint32) bool { return int(seq-fl.next) < len(fl.ring) }

func (fl *flow) put(p *partial) {
	*fl.place(p.seq) = p
	fl.count++
}

func (fl *flow) remove(p *partial) {
	*fl.place(p.seq) = nil
	fl.count--
}

// grow doubles the ring.
func (fl *flow) grow() {
	old := fl.ring
	fl.ring = make([]*partial, max(minRing, 2*len(old)))
	for _, p := range old {
		if p != nil {
			*fl.place(p.seq) = p
		}
	}
}
