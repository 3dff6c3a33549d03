package msg

// orderWindow bounds the ordered messages to a peer beyond the first one without a result, and
// so the messages that its end holds back until an earlier one comes.
const orderWindow = 256

// orderOut numbers the ordered messages to a peer. It is not safe for concurrent use.
type orderOut struct {
	epoch      uint64 // random: another process of this end has another one
	next, base uint32 // the next number, and the lowest without a result
	over       [orderWindow]bool
}

func (o *orderOut) full() bool { return o.next-o.base >= orderWindow }

// take returns the number of the next message, and how many below it the base is.
func (o *orderOut) take() (seq uint32, behind byte) {
	o.next++
	return o.next - 1, byte(o.next - 1 - o.base)
}

// done notes that a message has a result. It reports whether there is more room.
func (o *orderOut) done(seq uint32) (more bool) {
	o.over[seq%orderWindow] = true
	for o.base != o.next && o.over[o.base%orderWindow] {
		o.over[o.base%orderWindow] = false
		o.base++
		more = true
	}
	return more
}

// orderIn puts the ordered messages of a peer in order. It is not safe for concurrent use.
type orderIn struct {
	known       bool
	epoch, last uint64 // the epoch, and the one before
	next        uint32
	held        map[uint32]*message
	run         []*message
}

// admit takes a message. Messages with numbers below base come no more: they have failed, or
// another process of this end has them. It returns the messages whose turn has come, until the
// next call. It returns false if no honest peer sends the message. A message below base that
// comes nevertheless has no order.
func (o *orderIn) admit(epoch uint64, seq, base uint32, m *message) (run []*message, ok bool) {
	o.run = o.run[:0]
	switch {
	case o.known && epoch == o.epoch:
		o.advance(base)
	case o.known && epoch == o.last:
		o.run = append(o.run, m)
		return o.run, true
	default:
		o.flush()
		o.known, o.last, o.epoch, o.next = true, o.epoch, epoch, base
	}
	switch ahead := int32(seq - o.next); {
	case ahead < 0:
		o.run = append(o.run, m)
		return o.run, true
	case ahead == 0 && o.held[seq] == nil:
		o.run = append(o.run, m)
		o.next++
		o.follow()
		return o.run, true
	case ahead >= orderWindow || o.held[seq] != nil:
		return o.run, false
	}
	if o.held == nil {
		o.held = map[uint32]*message{}
	}
	o.held[seq] = m
	o.follow()
	return o.run, true
}

// skip notes that the messages below base come no more. It returns those whose turn has come.
func (o *orderIn) skip(epoch uint64, base uint32) []*message {
	o.run = o.run[:0]
	if o.known && epoch == o.epoch {
		o.advance(base)
		o.follow()
	}
	return o.run
}

// advance passes the numbers below base.
func (o *orderIn) advance(base uint32) {
	ahead := int32(base - o.next)
	if ahead <= 0 {
		return
	}
	if ahead >= orderWindow {
		o.flush()
	}
	for ; len(o.held) > 0 && o.next != base; o.next++ {
		o.release()
	}
	o.next = base
}

// follow passes the numbers that are here.
func (o *orderIn) follow() {
	for o.held[o.next] != nil {
		o.release()
		o.next++
	}
}

// flush passes all that is held.
func (o *orderIn) flush() {
	for ; len(o.held) > 0; o.next++ {
		o.release()
	}
}

// release gives out the next message, if it is here.
func (o *orderIn) release() {
	if h := o.held[o.next]; h != nil {
		delete(o.held, o.next)
		o.run = append(o.run, h)
	}
}
