package ep

// creditEvery is the cost of messages taken by the program after which the receiver sends
// a credit.
const creditEvery = window / 4

// partialMost bounds the buffers of incomplete messages. All messages that the peer has
// begun, except the last, fit into the window completely.
const partialMost = window + MaxMessage

// incoming reassembles messages from pieces, and stores them until the program takes
// them. It is not safe for concurrent use.
type incoming struct {
	parts   map[uint32]*part
	partial int // bytes of the buffers in parts
	held    int // cost of pieces that have arrived and are not taken
	ready   []arrived

	taken uint64 // cost of all taken messages
	told  uint64 // value of taken in the last credit
}

// part is a message with missing pieces.
type part struct {
	data      []byte // nil: abandoned
	abandoned bool
	all       int // bytes
	seen      int // bytes in pieces that came or were given up
	cost      int
}

// arrived is a complete message.
type arrived struct {
	data []byte
	cost int
}

// add adds a piece. It returns false if an honest peer would not have sent the piece.
func (in *incoming) add(h *header, data []byte, expired bool) bool {
	price := h.price()
	if in.held+price > window {
		return false
	}
	p := in.parts[h.number]
	if p == nil {
		p = &part{all: h.total}
		if in.partial+h.total > partialMost {
			return false
		}
		if h.size < h.total {
			if in.parts == nil {
				in.parts = map[uint32]*part{}
			}
			in.parts[h.number] = p
		}
		p.data = make([]byte, h.total)
		in.partial += h.total
	}
	if p.all != h.total || p.seen+h.size > p.all {
		return false
	}
	in.held += price
	p.cost += price
	p.seen += h.size
	if given := expired || h.kind == kindRest; given && !p.abandoned {
		p.abandoned, p.data = true, nil
		in.partial -= p.all
	} else if !p.abandoned {
		copy(p.data[h.at:], data)
	}
	if p.seen == p.all {
		in.finish(h.number, p)
	}
	return true
}

// finish moves a complete message out of parts.
func (in *incoming) finish(number uint32, p *part) {
	delete(in.parts, number)
	if p.abandoned {
		in.take(p.cost)
		return
	}
	in.partial -= p.all
	in.ready = append(in.ready, arrived{p.data, p.cost})
}

func (in *incoming) take(cost int) {
	in.held -= cost
	in.taken += uint64(cost)
}

// next returns the next complete message.
func (in *incoming) next() ([]byte, bool) {
	if len(in.ready) == 0 {
		return nil, false
	}
	m := in.ready[0]
	in.ready[0] = arrived{}
	if in.ready = in.ready[1:]; len(in.ready) == 0 {
		in.ready = nil
	}
	in.take(m.cost)
	return m.data, true
}

// owes reports whether a credit must be sent to the peer, and records it as sent.
func (in *incoming) owes() bool {
	if in.taken-in.told < creditEvery {
		return false
	}
	in.told = in.taken
	return true
}
