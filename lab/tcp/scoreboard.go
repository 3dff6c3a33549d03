package tcp

import "github.com/srdtun/srdtun/srd/mono"

// record is one segment from its first transmission to its cumulative acknowledgement. A segment
// keeps its boundaries when it is sent again.
type record struct {
	seq  int64
	dsn  int64     // offset of the data in the byte stream of all subflows
	at   mono.Time // time of the last transmission
	size int32

	sacked bool
	lost   bool // declared lost, and not yet known to have arrived
	resent bool // a retransmission is in flight
	ever   bool // sent more than once
}

func (r *record) end() int64 { return r.seq + int64(r.size) }

// scoreboard records the state of the sender's segments in flight (RFC 6675, section 2). Records
// have consecutive numbers and are stored in a ring.
type scoreboard struct {
	una, nxt int64 // first unacknowledged byte, and first unsent byte

	ring       []record // its length is a power of two
	base, next uint64   // numbers of the oldest record and of the next new record

	sacked      spans
	sackedBytes int64
	sackedSegs  int
	lostBytes   int64
	resentBytes int64

	waiting int    // number of lost records without a retransmission
	cursor  uint64 // no waiting record has a lower number
	judged  uint64 // markBelow has examined all records below this number
}

const firstRing = 64 // initial number of records in the ring

// pipe returns the estimated number of bytes in flight (RFC 6675, section 4).
func (b *scoreboard) pipe() int64 {
	return b.nxt - b.una - b.sackedBytes - b.lostBytes + b.resentBytes
}

// outstanding returns the number of bytes that are not cumulatively acknowledged.
func (b *scoreboard) outstanding() int64 { return b.nxt - b.una }

func (b *scoreboard) at(i uint64) *record { return &b.ring[i&uint64(len(b.ring)-1)] }

// find returns the number of the record that contains the byte seq, which must be in flight.
func (b *scoreboard) find(seq int64) uint64 {
	lo, hi := b.base, b.next
	for lo < hi {
		if mid := (lo + hi) / 2; b.at(mid).end() > seq {
			hi = mid
		} else {
			lo = mid + 1
		}
	}
	return lo
}

// push adds a record for `size` new bytes, and returns its number.
func (b *scoreboard) push(size int, dsn int64, now mono.Time) uint64 {
	if int(b.next-b.base) == len(b.ring) {
		b.grow()
	}
	i := b.next
	*b.at(i) = record{seq: b.nxt, dsn: dsn, at: now, size: int32(size)}
	b.next++
	b.nxt += int64(size)
	return i
}

func (b *scoreboard) grow() {
	old := b.ring
	b.ring = make([]record, max(firstRing, 2*len(old)))
	for i := b.base; i < b.next; i++ {
		*b.at(i) = old[i&uint64(len(old)-1)]
	}
}

// pop removes the oldest record, whose bytes are cumulatively acknowledged.
func (b *scoreboard) pop() {
	r := b.at(b.base)
	if r.sacked {
		b.sackedBytes -= int64(r.size)
		b.sackedSegs--
	} else {
		b.settle(r)
	}
	b.una = r.end()
	b.base++
}

// sack records that the segment of r has arrived.
func (b *scoreboard) sack(r *record) {
	b.settle(r)
	r.sacked = true
	b.sackedBytes += int64(r.size)
	b.sackedSegs++
	b.sacked.add(r.seq, r.end())
}

// settle reverts declarations of loss for a segment that has arrived.
func (b *scoreboard) settle(r *record) {
	if r.lost {
		r.lost = false
		b.lostBytes -= int64(r.size)
		if !r.resent {
			b.waiting--
		}
	}
	if r.resent {
		r.resent = false
		b.resentBytes -= int64(r.size)
	}
}

// markLost declares the segment of record i lost, or its latest retransmission. The result of
// markLost is false if the segment was already declared lost.
func (b *scoreboard) markLost(i uint64) bool {
	r := b.at(i)
	if r.sacked || r.lost && !r.resent {
		return false
	}
	if r.resent {
		r.resent = false
		b.resentBytes -= int64(r.size)
	}
	if !r.lost {
		r.lost = true
		b.lostBytes += int64(r.size)
	}
	b.waiting++
	b.cursor = min(b.cursor, i)
	return true
}

// markAll declares all segments lost without a selective acknowledgement, as a
// retransmission timeout does.
func (b *scoreboard) markAll() {
	for i := b.base; i < b.next; i++ {
		b.markLost(i)
	}
}

// markBelow declares a segment lost if dupThresh segments above it are selectively acknowledged.
// The result of markBelow is true if it declared a segment lost. The rule of markBelow is IsLost of
// RFC 6675, section 4, counted in segments as kernels do, and does not apply to retransmissions.
func (b *scoreboard) markBelow() (news bool) {
	if b.sackedSegs < dupThresh {
		return false
	}
	i := b.find(b.sacked.end() - 1)
	for above := 0; ; i-- {
		if b.at(i).sacked {
			if above++; above == dupThresh {
				break
			}
		}
	}
	for j := max(b.judged, b.base); j < i; j++ {
		if r := b.at(j); !r.lost && b.markLost(j) {
			news = true
		}
	}
	b.judged = max(b.judged, i)
	return news
}

// nextLost returns the number of the first record to retransmit, if there is one.
func (b *scoreboard) nextLost() (uint64, bool) {
	if b.waiting == 0 {
		return 0, false
	}
	i := max(b.cursor, b.base)
	for r := b.at(i); !r.lost || r.resent; r = b.at(i) {
		i++
	}
	b.cursor = i
	return i, true
}

// resend records a retransmission of the segment of record i.
func (b *scoreboard) resend(i uint64, now mono.Time) {
	r := b.at(i)
	if !r.resent {
		r.resent = true
		b.resentBytes += int64(r.size)
		if r.lost {
			b.waiting--
		}
	}
	r.ever, r.at = true, now
}

// unmark withdraws every declaration of loss, after declarations have proven wrong.
func (b *scoreboard) unmark() {
	for i := b.base; i < b.next; i++ {
		if r := b.at(i); !r.sacked {
			b.settle(r)
		}
	}
}
