package order

// Rest gives back the memory that is only there for speed, if nothing is held:
// the peer has been idle for long. Numbers of flows go on where they were.
func (g *Reassembler) Rest() {
	if g.parts.n+g.waits.n+g.lates.n+len(g.ready) > 0 {
		return
	}
	g.spare, g.ready = spare{}, nil
}
