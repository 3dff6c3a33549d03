package order

// Rest frees the spare memory of a peer that has long been idle, if no frame is held. Rest keeps
// the flow numbers.
func (g *Reassembler) Rest() {
	if g.parts.n+g.waits.n+g.lates.n+len(g.ready) > 0 {
		return
	}
	g.spare, g.ready = spare{}, nil
}
