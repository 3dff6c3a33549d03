package msg

// orderWindow bounds the ordered messages to a peer beyond the first one that it has not
// accepted, and so the messages that its end holds back until an earlier one comes.
const orderWindow = 256

// orderOut numbers the ordered messages to a peer. After a failure a new epoch begins, since
// the number of the failed message may never come. It is not safe for concurrent use.
type orderOut struct {
	epoch      uint64
	next, base uint32 // the next number, and the lowest that was not accepted
	accepted   [orderWindow]bool
}

func (o *orderOut) full() bool { return o.next-o.base >= orderWindow }

// take returns the place of the next message.
func (o *orderOut) take() (epoch uint64, seq uint32) {
	o.next++
	return o.epoch, o.next - 1
}

// done notes the result of a message. It reports whether there is more room.
func (o *orderOut) done(epoch uint64, seq uint32, ok bool) (more bool) {
	if epoch != o.epoch {
		return false
	}
	if !ok {
		*o = orderOut{epoch: o.epoch + 1}
		return true
	}
	o.accepted[seq%orderWindow] = true
	for o.base != o.next && o.accepted[o.base%orderWindow] {
		o.accepted[o.base%orderWindow] = false
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

// admit takes a message. It returns the messages whose turn has come, until the next call. It
// returns false if no honest peer sends the message. A message of the epoch before is late,
// because another one failed: it has no order.
func (o *orderIn) admit(epoch uint64, seq uint32, m *message) (run []*message, ok bool) {
	o.run = o.run[:0]
	switch {
	case o.known && epoch == o.last && epoch != o.epoch:
		o.run = append(o.run, m)
		return o.run, true
	case !o.known:
		o.known, o.epoch, o.last = true, epoch, epoch
	case epoch != o.epoch:
		o.skip()
		o.epoch, o.last, o.next = epoch, o.epoch, 0
	}
	if seq-o.next >= orderWindow || o.held[seq] != nil {
		return o.run, false
	}
	if o.held == nil {
		o.held = map[uint32]*message{}
	}
	o.held[seq] = m
	for h := o.held[o.next]; h != nil; h = o.held[o.next] {
		delete(o.held, o.next)
		o.next++
		o.run = append(o.run, h)
	}
	return o.run, true
}

// skip appends what is held to run, in order, as what is missing failed.
func (o *orderIn) skip() {
	for ; len(o.held) > 0; o.next++ {
		if h := o.held[o.next]; h != nil {
			delete(o.held, o.next)
			o.run = append(o.run, h)
		}
	}
}
