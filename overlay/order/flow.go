package order

// flow is the receiver's state of one slot: the number of the next frame in order, and later
// frames that have arrived whole or in part.
type flow struct {
	next  uint32
	count int32   // number of partial frames in win
	win   *window // nil: no partial frames
	late  *lates  // incomplete frames with numbers below next; nil: none
}

// get returns the partial frame with number seq, or nil. The number seq must be less than
// maxAhead above the number of the next frame.
func (fl *flow) get(seq uint32) *partial {
	if fl.win == nil {
		return nil
	}
	return fl.win.get(seq)
}

// first returns the lowest frame number that the flow's window contains.
func (fl *flow) first() (seq uint32, ok bool) {
	if fl.win == nil {
		return 0, false
	}
	return fl.win.first(fl.next)
}

func (g *Reassembler) put(p *partial) {
	fl := p.flow
	if fl.win == nil {
		fl.win = reuse(&g.spare.windows)
		g.memory += windowBytes
	}
	i := p.seq / pagePlaces % windowPages
	pg := fl.win.pages[i]
	if pg == nil {
		pg = reuse(&g.spare.pages)
		g.memory += pageBytes
		fl.win.pages[i] = pg
		fl.win.some[i/64] |= 1 << (i % 64)
	}
	pg.at[p.seq%pagePlaces] = p
	pg.some |= 1 << (p.seq % pagePlaces)
	fl.count++
}

// remove removes the partial frame p from its flow. If the page or the window becomes empty, it is
// freed.
func (g *Reassembler) remove(p *partial) {
	fl := p.flow
	i := p.seq / pagePlaces % windowPages
	pg := fl.win.pages[i]
	pg.at[p.seq%pagePlaces] = nil
	if pg.some &^= 1 << (p.seq % pagePlaces); pg.some == 0 {
		fl.win.pages[i] = nil
		fl.win.some[i/64] &^= 1 << (i % 64)
		g.spare.pages = keep(g.spare.pages, pg, sparePages)
		g.memory -= pageBytes
	}
	if fl.count--; fl.count == 0 {
		g.spare.windows = keep(g.spare.windows, fl.win, spareWindows)
		g.memory -= windowBytes
		fl.win = nil
	}
}
