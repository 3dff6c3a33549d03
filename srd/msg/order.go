package msg

// orderWindow bounds the distance from the lowest number without a result to the highest number
// of an ordered message. So it also bounds the messages that the peer holds back because an
// earlier one is missing.
const orderWindow = 256

// orderOut numbers the ordered messages to a peer. The type orderOut is not safe for concurrent
// use.
type orderOut struct {
	epoch      uint64 // random, so that each process has a different one
	next, base uint32 // next number, and lowest number without a result
	over       [orderWindow]bool
}

func (o *orderOut) full() bool { return o.next-o.base >= orderWindow }

// take returns the number of the next message, and its distance from the base.
func (o *orderOut) take() (seq uint32, behind byte) {
	o.next++
	return o.next - 1, byte(o.next - 1 - o.base)
}

// done records that a message has a result, and reports whether the window has advanced, so
// that more messages may be sent.
func (o *orderOut) done(seq uint32) (more bool) {
	o.over[seq%orderWindow] = true
	for o.base != o.next && o.over[o.base%orderWindow] {
		o.over[o.base%orderWindow] = false
		o.base++
		more = true
	}
	return more
}

// orderIn puts the ordered messages of a peer in order. The type orderIn is not safe for
// concurrent use.
type orderIn struct {
	known       bool
	epoch, last uint64 // present epoch, and the one before
	next        uint32
	held        map[uint32]*message
	run         []*message
}

// admit takes an arrived message, and returns the messages that are now in order. The method
// does not wait for messages with numbers below `base`: they have failed, or an earlier process
// of this end has received them. If a message below `base` arrives after all, admit() returns
// it at once. The returned slice is valid until the next call. If the message breaks the
// protocol, admit() returns false.
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

// skip stops the wait for ordered messages with numbers below `base`, and returns the messages
// that are now in order.
func (o *orderIn) skip(epoch uint64, base uint32) []*message {
	o.run = o.run[:0]
	if o.known && epoch == o.epoch {
		o.advance(base)
		o.follow()
	}
	return o.run
}

// advance releases the held messages below `base`, and sets `next` to `base`.
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

// follow releases the messages from the number `next` up to the first gap.
func (o *orderIn) follow() {
	for o.held[o.next] != nil {
		o.release()
		o.next++
	}
}

// flush releases all held messages.
func (o *orderIn) flush() {
	for ; len(o.held) > 0; o.next++ {
		o.release()
	}
}

// release moves the message with the number `next` to the list `run`, if it has arrived.
func (o *orderIn) release() {
	if h := o.held[o.next]; h != nil {
		delete(o.held, o.next)
		o.run = append(o.run, h)
	}
}
