package linkemu

// slot is a frame with its departure time. If two departure times are equal, the frame that arrived
// first departs first.
type slot struct {
	at    int64
	order uint64
	frame []byte
}

func (s slot) before(o slot) bool {
	return s.at < o.at || s.at == o.at && s.order < o.order
}

// schedule is a binary heap of slots, with the earliest slot first. Unlike container/heap,
// schedule allocates no memory for each frame.
type schedule []slot

func (h *schedule) push(s slot) {
	*h = append(*h, s)
	q := *h
	for i := len(q) - 1; i > 0; {
		up := (i - 1) / 2
		if !q[i].before(q[up]) {
			return
		}
		q[i], q[up] = q[up], q[i]
		i = up
	}
}

func (h *schedule) pop() slot {
	q := *h
	first, last := q[0], len(q)-1
	q[0], q[last] = q[last], slot{}
	*h = q[:last]
	h.sink()
	return first
}

// sink moves the root of the heap down to its position.
func (h *schedule) sink() {
	q := *h
	for i := 0; ; {
		least := i
		for _, kid := range [2]int{2*i + 1, 2*i + 2} {
			if kid < len(q) && q[kid].before(q[least]) {
				least = kid
			}
		}
		if least == i {
			return
		}
		q[i], q[least] = q[least], q[i]
		i = least
	}
}
