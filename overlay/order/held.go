package order

import "github.com/srdtun/srdtun/overlay/frame"

// EachHeld calls f with every complete frame that waits for one before it, longest first,
// but for those that somebody copies into.
// There are as many as DefaultHeldBytes takes.
func (g *Reassembler) EachHeld(f func(*frame.Frame)) {
	for p := g.waits.head; p != nil; p = p.next {
		if p.frame != nil && p.frame.Settled() {
			f(p.frame)
		}
	}
}
