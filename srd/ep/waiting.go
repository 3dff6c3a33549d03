package ep

import "slices"

// waiting holds the requests that have not begun. A message without immediate data needs a
// receive of the peer, so it needs a credit if the sender is limited (outgoing.allow). Reads and
// writes need no credits. Messages with immediate data need no credits, because a peer with
// Config.PeerReceives always has receives for them. A waiting value is not safe for concurrent
// use.
type waiting struct {
	bound fifo[*request] // requests that need credits
	free  fifo[*request]
	turn  bool // the next request is from `bound`, not from `free`
}

// free reports whether a request needs no credits. A refused request always needs credits.
func (r *request) free() bool {
	return !r.refused && (r.op != OpSend || r.flags&flagImmediate != 0)
}

func (w *waiting) push(r *request) {
	if r.free() {
		w.free.push(r)
	} else {
		w.bound.push(r)
	}
}

func (w *waiting) remove(r *request) {
	w.free.remove(r)
	w.bound.remove(r)
}

func (w *waiting) len() int { return w.bound.len() + w.free.len() }

func (w *waiting) all() []*request { return slices.Concat(w.free.rest(), w.bound.rest()) }

// may reports whether a request may begin. The parameter `credits` is true if requests that need
// credits may begin.
func (w *waiting) may(credits bool) bool { return w.free.len() > 0 || credits && w.bound.len() > 0 }

// pop returns the next request that may begin. Call pop() only if the method may() returns true.
// Requests that need credits alternate with requests that need none.
func (w *waiting) pop(credits bool) *request {
	w.turn = !w.turn
	if w.free.len() > 0 && (w.turn || !credits || w.bound.len() == 0) {
		return w.free.pop()
	}
	return w.bound.pop()
}
