package order

import "github.com/srdtun/srdtun/overlay/frame"

// EachHeld calls f for every complete frame that waits for an earlier one, longest wait first.
// EachHeld leaves out frames into which a goroutine is still copying. The setting HeldBytes
// bounds the number of held frames.
func (g *Reassembler) EachHeld(f func(*frame.Frame)) {
	for p := g.waits.head; p != nil; p = p.next {
		if p.frame != nil && p.frame.Settled() {
			f(p.frame)
		}
	}
}
