package order

import "github.com/srdtun/srdtun/overlay/frame"

// EachHeld calls f with every complete frame that waits for an earlier one, longest wait
// first. It omits frames into which a goroutine still copies. HeldBytes bounds the number
// of these frames.
func (g *Reassembler) EachHeld(f func(*frame.Frame)) {
	for p := g.waits.head; p != nil; p = p.next {
		if p.frame != nil && p.frame.Settled() {
			f(p.frame)
		}
	}
}
