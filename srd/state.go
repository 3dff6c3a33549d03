package srd

import (
	"encoding/binary"
	"errors"
	"math"
	"net/netip"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/internal/seq"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// State is all of a connection that another process needs to go on with it in its place.
// Times are of the process's clock, which that of the next must continue. It holds keys:
// it is to be used once, by one process, and to be wiped.
//
// As bytes: numbers are varints as of encoding/binary, times signed ones; what has a fixed
// length stands as it is. Lists and addresses have their length in front.
type State struct {
	own, peer         uint64 // incarnations
	newest            handshake.Timestamp
	since             mono.Time
	heard, active     mono.Time
	epochs            [epochCount]epochState
	smoothed, strayed uint64
	paths             []pathState
	in                []inState
	missing           uint64   // lowest message number that did not come
	above             []uint64 // and those that did above it
	outFirst, outNext uint64
	open              []openState
	lastPath          uint64 // one more than the slot that the peer was last heard on; 0: none
}

// The epochs of a state, in their order.
const (
	epochSend = iota
	epochPrev
	epochNext
	epochOther
	epochCount
)

// epochState is an epoch. A zero cipher stands for none.
type epochState struct {
	cipher                handshake.Cipher
	flags                 uint8
	features              uint8
	sendKey, recvKey      rawKey
	sendIV, recvIV        Nonce
	local, remote         uint64
	created, called, dies mono.Time
	sent, peer            uint64
}

// Flags of an epochState.
const (
	flagInitiator = 1 << iota
	flagHeard
	flagProven
	flagCrossed
)

// pathState is one of our path slots, also one that is not in use: its packet numbers go on.
type pathState struct {
	state             PathState
	flags             uint8
	tuple             Tuple
	next, largest     uint64
	trap              uint64 // one more than the number that was left out last; 0: that is long ago
	peerCE, mtu, want uint64
	smoothed, base    uint64 // nanoseconds
	heard, seen, fell mono.Time
}

// Flags of a pathState.
const (
	flagOurs = 1 << iota
	flagValidated
	flagUnsized
	flagLinked // the number of the uplink's interface follows its address
)

// inState is one of the peer's path slots.
type inState struct {
	slot, next, told, ce uint64
	latest               seq.Latest
	at                   mono.Time
	owed                 bool // arrivals that were not acknowledged
}

// openState is a message that was not acknowledged. Its payload has died with its process.
type openState struct {
	number uint64
	flow   uint64
	imm    Imm
}

// trapMost is how long ago a number may have been left out, in packets of its path, for the
// next process to know it: a window of a path, of which the peer may still tell.
const trapMost = 1 << 10

// Bounds of what a state may say: numbers and times so far from the ends of their types
// that sums stay within.
const (
	stateMost = 1 << 62
	// aboveMost is the words of a bitmap of all message numbers that can be above a gap.
	aboveMost = seq.WindowSize / 64
)

// Wipe overwrites the keys.
func (s *State) Wipe() {
	for i := range s.epochs {
		s.epochs[i] = epochState{}
	}
}

// Open returns how many messages were not acknowledged: their payloads are gone.
func (s *State) Open() int { return len(s.open) }

// Append appends the state to b.
func (s *State) Append(b []byte) []byte {
	w := stateWriter{b}
	w.num(s.own, s.peer)
	w.raw(s.newest[:])
	w.time(s.since, s.heard, s.active)
	for i := range s.epochs {
		w.epoch(&s.epochs[i])
	}
	w.num(s.smoothed, s.strayed, s.lastPath, uint64(len(s.paths)))
	for i := range s.paths {
		w.path(&s.paths[i])
	}
	w.num(uint64(len(s.in)))
	for i := range s.in {
		w.in(&s.in[i])
	}
	w.num(s.missing, uint64(len(s.above)))
	w.num(s.above...)
	w.num(s.outFirst, s.outNext, uint64(len(s.open)))
	for i := range s.open {
		o := &s.open[i]
		w.num(o.number-s.outFirst, o.flow)
		w.raw(o.imm[:])
	}
	return w.b
}

type stateWriter struct{ b []byte }

func (w *stateWriter) raw(b []byte) { w.b = append(w.b, b...) }

func (w *stateWriter) num(v ...uint64) {
	for _, n := range v {
		w.b = binary.AppendUvarint(w.b, n)
	}
}

func (w *stateWriter) time(v ...mono.Time) {
	for _, t := range v {
		w.b = binary.AppendVarint(w.b, int64(t))
	}
}

func (w *stateWriter) epoch(e *epochState) {
	w.raw([]byte{byte(e.cipher)})
	if e.cipher == 0 {
		return
	}
	w.raw([]byte{e.flags, e.features})
	w.raw(e.sendKey[:])
	w.raw(e.sendIV[:])
	w.raw(e.recvKey[:])
	w.raw(e.recvIV[:])
	w.num(e.local, e.remote, e.sent, e.peer)
	w.time(e.created, e.called, e.dies)
}

func (w *stateWriter) path(p *pathState) {
	w.raw([]byte{byte(p.state)})
	w.num(p.next, p.largest, p.trap, p.peerCE)
	if p.state == PathFree {
		return
	}
	flags, link := p.flags, p.tuple.Local.Link()
	if link != 0 {
		flags |= flagLinked
	}
	w.raw([]byte{flags})
	w.num(uint64(p.tuple.Sock))
	w.address(p.tuple.Local.Addr().MarshalBinary())
	if link != 0 {
		w.num(uint64(link))
	}
	w.address(p.tuple.Remote.MarshalBinary())
	w.num(p.mtu, p.want, p.smoothed, p.base)
	w.time(p.heard, p.seen, p.fell)
}

// address takes what MarshalBinary returns, which never fails.
func (w *stateWriter) address(b []byte, _ error) {
	w.num(uint64(len(b)))
	w.raw(b)
}

func (w *stateWriter) in(v *inState) {
	w.num(v.slot, v.next, v.told, v.ce)
	for _, word := range v.latest {
		w.b = binary.BigEndian.AppendUint64(w.b, word)
	}
	w.time(v.at)
	owed := byte(0)
	if v.owed {
		owed = 1
	}
	w.raw([]byte{owed})
}

// errState is the only fault that ParseState finds: nobody can do anything about it.
var errState = errors.New("the state of the session is damaged")

// ParseState reads what Append wrote, all of b.
func ParseState(b []byte) (*State, error) {
	r, s := stateReader{b: b}, new(State)
	s.own, s.peer = r.any(), r.any()
	r.raw(s.newest[:])
	s.since, s.heard, s.active = r.time(), r.time(), r.time()
	for i := range s.epochs {
		r.epoch(&s.epochs[i])
	}
	s.smoothed, s.strayed, s.lastPath = r.num(), r.num(), r.num()
	s.paths = make([]pathState, r.count(steer.MaxPaths))
	for i := range s.paths {
		r.path(&s.paths[i])
	}
	s.in = make([]inState, r.count(candidateSlot+1))
	for i := range s.in {
		r.in(&s.in[i])
	}
	s.missing = r.num()
	s.above = make([]uint64, r.count(aboveMost))
	for i := range s.above {
		s.above[i] = r.any()
	}
	s.outFirst, s.outNext = r.num(), r.num()
	s.open = make([]openState, r.count(OutboxLimit))
	for i := range s.open {
		o := &s.open[i]
		o.number, o.flow = s.outFirst+r.num(), r.num()
		r.raw(o.imm[:])
	}
	if r.bad || len(r.b) > 0 || !s.sound() {
		s.Wipe()
		return nil, errState
	}
	return s, nil
}

// sound reports whether the parts of s fit together.
func (s *State) sound() bool {
	if s.epochs[epochSend].cipher == 0 || s.lastPath > uint64(len(s.paths)) || s.outNext < s.outFirst || s.outNext-s.outFirst > OutboxLimit {
		return false
	}
	for i := range s.paths {
		if p := &s.paths[i]; p.state > PathDown || p.largest > p.next || p.trap > p.next || (p.trap > 0 && p.next-p.trap > trapMost) || p.mtu > MaxPacket || p.want > MaxPacket ||
			(p.state != PathFree && !p.tuple.Remote.IsValid()) || (p.state == PathActive && p.mtu < BasePacket) {
			return false
		}
	}
	for i := range s.in {
		// In the order of slots, so none twice.
		if v := &s.in[i]; v.slot > candidateSlot || (i > 0 && v.slot <= s.in[i-1].slot) || v.next == 0 || v.told > v.next {
			return false
		}
	}
	return s.openSound()
}

// openSound: the lowest number that waits is always open.
func (s *State) openSound() bool {
	if len(s.open) == 0 {
		return s.outFirst == s.outNext
	}
	for i := range s.open {
		if n := s.open[i].number; n >= s.outNext || (i == 0 && n != s.outFirst) || (i > 0 && n <= s.open[i-1].number) {
			return false
		}
	}
	return len(s.paths) > 0
}

// stateReader reads a state. After the first fault all is zero, and bad is set.
type stateReader struct {
	b   []byte
	bad bool
}

func (r *stateReader) fail() uint64 {
	r.b, r.bad = nil, true
	return 0
}

func (r *stateReader) raw(b []byte) {
	if len(r.b) < len(b) {
		r.fail()
		return
	}
	r.b = r.b[copy(b, r.b):]
}

func (r *stateReader) byte() byte {
	var v [1]byte
	r.raw(v[:])
	return v[0]
}

// any reads a number of 64 bits.
func (r *stateReader) any() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		return r.fail()
	}
	r.b = r.b[n:]
	return v
}

// num reads a number that may be counted on from.
func (r *stateReader) num() uint64 {
	v := r.any()
	if v >= stateMost {
		return r.fail()
	}
	return v
}

// count reads the length of a list.
func (r *stateReader) count(most int) int {
	v := r.any()
	// Each thing takes a byte at least, so a lie takes no memory.
	if v > uint64(most) || v > uint64(len(r.b)) {
		return int(r.fail())
	}
	return int(v)
}

func (r *stateReader) time() mono.Time {
	v, n := binary.Varint(r.b)
	if n <= 0 || v >= stateMost || v <= -stateMost {
		return mono.Time(r.fail())
	}
	r.b = r.b[n:]
	return mono.Time(v)
}

func (r *stateReader) epoch(e *epochState) {
	if e.cipher = handshake.Cipher(r.byte()); e.cipher == 0 {
		return
	}
	e.flags, e.features = r.byte(), r.byte()
	r.raw(e.sendKey[:])
	r.raw(e.sendIV[:])
	r.raw(e.recvKey[:])
	r.raw(e.recvIV[:])
	e.local, e.remote, e.sent, e.peer = r.num(), r.num(), r.num(), r.any()
	e.created, e.called, e.dies = r.time(), r.time(), r.time()
	if e.local > 1<<32-1 || e.remote > 1<<32-1 {
		r.fail()
	}
}

func (r *stateReader) path(p *pathState) {
	p.state = PathState(r.byte())
	p.next, p.largest, p.trap, p.peerCE = r.num(), r.num(), r.num(), r.num()
	if p.state == PathFree {
		return
	}
	p.flags = r.byte()
	sock, link, local := r.num(), uint64(0), r.address()
	if p.flags&flagLinked != 0 {
		p.flags, link = p.flags&^flagLinked, r.num()
	}
	var addr netip.Addr
	if sock > math.MaxUint16 || link > math.MaxUint32 || addr.UnmarshalBinary(local) != nil || p.tuple.Remote.UnmarshalBinary(r.address()) != nil {
		r.fail()
	}
	p.tuple.Sock, p.tuple.Local = uint16(sock), UplinkOf(addr, uint32(link))
	p.mtu, p.want, p.smoothed, p.base = r.num(), r.num(), r.num(), r.num()
	p.heard, p.seen, p.fell = r.time(), r.time(), r.time()
}

// addressMost is an address with port and a zone, which is the name of an interface.
const addressMost = 64

func (r *stateReader) address() []byte {
	b := make([]byte, r.count(addressMost))
	r.raw(b)
	return b
}

func (r *stateReader) in(v *inState) {
	v.slot, v.next, v.told, v.ce = r.num(), r.num(), r.num(), r.num()
	for i := range v.latest {
		var word [8]byte
		r.raw(word[:])
		v.latest[i] = binary.BigEndian.Uint64(word[:])
	}
	v.at = r.time()
	v.owed = r.byte() != 0
}
