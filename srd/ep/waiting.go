package ep

import "slices"

// waiting holds the requests that have not begun. Those that need a receive of the peer's
// depend on its credits, and the others do not: reads, writes, and messages with immediate
// data, for which a peer always has receives if it uses Config.PeerReceives. It is not safe
// for concurrent use.
type waiting struct {
	bound fifo[*request] // to credits
	free  fifo[*request]
	turn  bool // whose turn is next: bound's, or free's
}

// free reports whether a request is not bound to credits. One that was refused is.
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

// may reports whether there is a request that may begin with or without credits.
func (w *waiting) may(credits bool) bool { return w.free.len() > 0 || credits && w.bound.len() > 0 }

// pop returns the next request that may begin. There is one. Both kinds take turns.
func (w *waiting) pop(credits bool) *request {
	w.turn = !w.turn
	if w.free.len() > 0 && (w.turn || !credits || w.bound.len() == 0) {
		return w.free.pop()
	}
	return w.bound.pop()
}
