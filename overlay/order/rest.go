package order

// Rest frees the spare memory if no frame is held. It is for a peer that has long been
// idle. Flow numbers stay.
func (g *Reassembler) Rest() {
	if g.parts.n+g.waits.n+g.lates.n+len(g.ready) > 0 {
		return
	}
	g.spare, g.ready = spare{}, nil
}
