package srd_test

import (
	"cmp"
	"container/heap"
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// A pair is two real connections joined by a network of links in virtual time. Only the
// network is simulated.
type pair struct {
	t      testing.TB
	now    mono.Time
	events events
	serial int
	rng    *rand.Rand
	host   [2]*host
	links  []*link       // a path's link is its socket number modulo len(links)
	apart  bool          // each link joins its own pair of addresses
	late   time.Duration // how far host 0's wall clock is slow
	sealed nonces
	tap    func(side, link int, b []byte) // sees every packet sent, if set
	astray int                            // bytes sent to addresses of neither side
	// route, if set, returns the tuple on which a packet arrives, and whether it arrives. With
	// route there is only one link.
	route func(side int, from srd.Tuple) (to srd.Tuple, ok bool)
}

// nonces checks that no key is used with the same nonce twice. The receiver index of a
// packet identifies its key. Packets are numbered and sealed in order, so it is enough to
// store the last number of each path.
type nonces struct {
	last    map[nonceSpace]uint64 // one more than the last packet number sealed
	packets int
}

type nonceSpace struct {
	side  int
	index uint32
	slot  uint16
}

func (v *nonces) use(t testing.TB, side int, b []byte) {
	index, ok := srd.DataIndex(b)
	if !ok {
		return
	}
	slot, pn := srd.DataNumber(b)
	space := nonceSpace{side, index, slot}
	if pn < v.last[space] {
		t.Fatalf("side %d, key %08x, path %d: packet number %d after %d", side, index, slot, pn, v.last[space]-1)
	}
	if v.last == nil {
		v.last = map[nonceSpace]uint64{}
	}
	v.last[space] = pn + 1
	v.packets++
}

type link struct {
	rate  float64 // bytes per second; 0 is unlimited
	delay time.Duration
	vary  time.Duration // standard deviation of the delay; packets stay in order
	limit time.Duration // longest queue
	loss  float64
	dup   float64
	swap  float64 // chance of an extra delay of up to a millisecond
	flip  float64 // chance of a corrupted bit
	dead  [2]bool // whether each direction has failed
	free  [2]mono.Time
	last  [2]mono.Time // arrival of the previous packet, if delays vary
	sent  [2]int
	drops [2]int
}

type host struct {
	p        *pair
	side     int
	id       *handshake.Identity
	end      *srd.Endpoint
	conn     *srd.Conn
	index    map[uint32]*entry
	where    srd.AddressSet   // known addresses of the peer
	life     time.Duration    // life of keys, from the next start on; 0: the default
	speaks   uint32           // its protocol, from the next start on
	features uint8            // features that it announces, from the next start on
	offers   handshake.Offers // offered ciphers, from the next start on; 0: AES-256-GCM
	train    *srd.Train
	wake     mono.Time
	stopped  mono.Time // its process is not scheduled before then
	src      source
	got      []uint64 // numbers received, in order of arrival
	bytes    int
	expired  int
}

type entry struct {
	conn *srd.Conn
	keys *srd.RecvKeys
}

// source offers numbered messages of a given size.
type source struct {
	left  int
	size  int
	next  uint64
	open  int
	flow  uint64                   // number of flows that take turns; 0: one
	tell  bool                     // whether Waiting returns the number of waiting bytes
	class func(n uint64) srd.Class // class of message n; nil: Stream
}

func (s *source) Done(srd.Status) { s.open-- }

func (s *source) Pull(now mono.Time, max int) (srd.Message, bool) {
	if s.left == 0 {
		return srd.Message{}, false
	}
	s.left--
	s.open++
	n := min(max, s.size)
	m := srd.Message{Data: make([]byte, n), Owner: s, Flow: s.turn()}
	if s.class != nil {
		m.Class = s.class(s.next)
	}
	binary.BigEndian.PutUint64(m.Imm[:], s.next)
	for i := range m.Data {
		m.Data[i] = byte(s.next + uint64(i))
	}
	s.next++
	return m, true
}

// Backlog implements srd.Source.
func (s *source) Backlog() bool { return s.left > 0 }

// Waiting implements srd.Source.
func (s *source) Waiting() int {
	if !s.tell {
		return 0
	}
	return s.left * s.size
}

// turn returns the flow of the next message.
func (s *source) turn() uint32 { return uint32(s.next % max(1, s.flow)) }

// Peek implements srd.Source.
func (s *source) Peek(mono.Time) (flow uint32, bytes int, ok bool) {
	return s.turn(), s.size, s.left > 0
}

type event struct {
	at mono.Time
	n  int
	f  func()
}
type events []*event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].n < e[j].n
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(*event)) }
func (e *events) Pop() any     { o := *e; x := o[len(o)-1]; *e = o[:len(o)-1]; return x }

func (p *pair) at(t mono.Time, f func()) {
	p.serial++
	heap.Push(&p.events, &event{at: max(t, p.now), n: p.serial, f: f})
}

type reader struct{ *rand.Rand }

func (r reader) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return len(b), nil
}

func newPair(t testing.TB, seed uint64, links ...*link) *pair {
	p := &pair{t: t, now: 1e9, rng: rand.New(rand.NewPCG(seed, 1)), links: links}
	for side := range 2 {
		h := &host{p: p, side: side, train: srd.NewTrain()}
		var priv [32]byte
		reader{p.rng}.Read(priv[:])
		h.id, _ = handshake.NewIdentity(priv)
		p.host[side] = h
	}
	for side := range 2 {
		p.host[side].start()
	}
	return p
}

// start replaces the process on h by a new one, which keeps only the private key.
func (h *host) start() {
	offers := cmp.Or(h.offers, handshake.OffersOf(handshake.AES256GCM))
	h.index, h.where = map[uint32]*entry{}, srd.AddressSet{}
	h.end = srd.NewEndpoint(h.id, reader{h.p.rng})
	h.conn = srd.New(srd.Config{
		Eager:    true,
		Identity: h.id, Remote: h.p.host[1-h.side].id.Public(), Offers: offers,
		Incarnation: h.p.rng.Uint64(), Rand: reader{h.p.rng}, Indexes: h, Addresses: &h.where,
		Timestamp: func(now mono.Time) handshake.Timestamp {
			if h.side == 0 {
				now = now.Add(-h.p.late)
			}
			return handshake.TimestampOf(time.Unix(1e9, int64(now)))
		},
		MTU: func(srd.Tuple) int { return 1472 }, Policy: steer.NewSpray(h.p.rng.Uint64()), Control: cc.New(0),
		KeyLife: h.life, Protocol: h.speaks, Features: h.features,
	})
	h.end.Add(h.conn)
	h.end.Prefer(h.where.Has)
	h.wake = mono.Never
}

func (h *host) Reserve(c *srd.Conn) uint32 {
	for {
		i := h.p.rng.Uint32()
		if h.index[i] == nil {
			h.index[i] = &entry{conn: c}
			return i
		}
	}
}
func (h *host) Publish(i uint32, k *srd.RecvKeys) { h.index[i].keys = k }
func (h *host) Release(i uint32)                  { delete(h.index, i) }

// tuples returns one tuple for each link. Side 0 uses a different source port on each, and
// side 1 sends to this port.
func (p *pair) tuples(side int) []srd.Tuple {
	var v []srd.Tuple
	for i := range p.links {
		v = append(v, p.tuple(side, i))
	}
	return v
}

func (p *pair) tuple(side, i int) srd.Tuple {
	uplink := 0
	if p.apart {
		uplink = i
	}
	a, b := netip.AddrFrom4([4]byte{10, 0, byte(uplink), 1}), netip.AddrFrom4([4]byte{10, 0, byte(uplink), 2})
	if side == 0 {
		return srd.Tuple{Sock: uint16(i), Local: srd.UplinkOf(a, 0), Remote: netip.AddrPortFrom(b, 7)}
	}
	return srd.Tuple{Sock: 0, Local: srd.UplinkOf(b, 0), Remote: netip.AddrPortFrom(a, uint16(1000+i))}
}

func (p *pair) linkOf(side int, t srd.Tuple) int {
	if side == 0 {
		return int(t.Sock)
	}
	return int(t.Remote.Port() - 1000)
}

// service advances h, and sends all its packets that are due now.
func (h *host) service() {
	now := h.p.now
	if now < h.stopped {
		h.p.at(h.stopped, h.service)
		return
	}
	h.conn.Advance(now)
	if h.src.left > 0 {
		h.conn.Connect(now)
	}
	for h.conn.Next(now, h.train, &h.src) {
		h.train.Seal()
		h.transmit()
	}
	at, _ := h.conn.Deadline()
	if h.src.left > 0 {
		at = at.Min(h.conn.SendDeadline(now, &h.src))
	}
	if at < mono.Never && (at < h.wake || h.wake <= now) {
		h.wake = max(at, now+1)
		w := h.wake
		h.p.at(w, func() {
			if h.wake == w {
				h.wake = mono.Never
				h.service()
			}
		})
	}
}

func (h *host) transmit() {
	for b := h.train.Buf; len(b) > 0; {
		n := min(h.train.Size, len(b))
		h.p.sealed.use(h.p.t, h.side, b[:n])
		if h.train.Tuple.Remote.Addr() == elsewhere.Remote.Addr() {
			h.p.astray += n
			b = b[n:]
			continue
		}
		if h.p.route != nil {
			h.p.deliver(h.side, h.train.Tuple, append([]byte(nil), b[:n]...))
			b = b[n:]
			continue
		}
		h.p.carry(h.side, h.p.linkOf(h.side, h.train.Tuple), append([]byte(nil), b[:n]...))
		b = b[n:]
	}
}

// deliver carries a packet to where route() says.
func (p *pair) deliver(side int, from srd.Tuple, b []byte) {
	if to, ok := p.route(side, from); ok {
		p.at(p.now.Add(p.links[0].delay), func() { p.host[1-side].receiveOn(to, b) })
	}
}

func (p *pair) carry(side, i int, b []byte) {
	l := p.links[i%len(p.links)]
	l.sent[side]++
	if p.tap != nil {
		p.tap(side, i, append([]byte(nil), b...))
	}
	if l.dead[side] || p.rng.Float64() < l.loss {
		l.drops[side]++
		return
	}
	if p.rng.Float64() < l.flip {
		b[p.rng.IntN(len(b))] ^= 1 << p.rng.IntN(8)
	}
	copies := 1
	if p.rng.Float64() < l.dup {
		copies = 2
	}
	for range copies {
		at := p.now
		if l.rate > 0 {
			start := max(p.now, l.free[side])
			if start.Sub(p.now) > l.limit {
				l.drops[side]++
				return
			}
			l.free[side] = start.Add(time.Duration(float64(len(b)+42) / l.rate * 1e9))
			at = l.free[side]
		}
		at = at.Add(l.delay)
		if l.vary > 0 {
			at = max(p.now, l.last[side], at.Add(time.Duration(p.rng.NormFloat64()*float64(l.vary))))
			l.last[side] = at
		}
		if p.rng.Float64() < l.swap {
			at = at.Add(time.Duration(p.rng.Int64N(int64(time.Millisecond))))
		}
		c := append([]byte(nil), b...)
		p.at(at, func() { p.host[1-side].receive(i, c) })
	}
}

func (h *host) receive(i int, b []byte) { h.receiveOn(h.p.tuple(h.side, i), b) }

// receiveOn handles a packet that arrived on t.
func (h *host) receiveOn(t srd.Tuple, b []byte) {
	now := h.p.now
	if now < h.stopped {
		h.p.at(h.stopped, func() { h.receiveOn(t, b) })
		return
	}
	if index, ok := srd.DataIndex(b); ok {
		e := h.index[index]
		if e == nil || e.keys == nil || !e.conn.Fresh(srd.DataNumber(b)) {
			return
		}
		pkt, ok := e.keys.Open(b, new(srd.Nonce))
		if !ok {
			return
		}
		pkt.Tuple = t
		h.conn.Handle(now, &pkt)
		h.drain()
	} else {
		a, reply := h.end.Receive(now, t, b, func(i uint32) *srd.Conn {
			if e := h.index[i]; e != nil {
				return e.conn
			}
			return nil
		})
		if a.Conn != nil && a.Deliver(now) {
			reply = h.end.Stale(now, &a)
		}
		switch {
		case reply == nil:
		case h.p.route != nil:
			h.p.deliver(h.side, t, reply)
		case t.Remote.Addr() == elsewhere.Remote.Addr():
			h.p.astray += len(reply)
		default:
			h.p.carry(h.side, h.p.linkOf(h.side, t), reply)
		}
	}
	h.service()
}

func (h *host) drain() {
	for {
		m, ok := h.conn.Recv()
		if !ok {
			return
		}
		if m.Expired {
			h.expired++
			continue
		}
		n := binary.BigEndian.Uint64(m.Imm[:])
		for i, b := range m.Data {
			if b != byte(n+uint64(i)) {
				h.p.t.Fatalf("message %d: byte %d is wrong", n, i)
			}
		}
		h.got = append(h.got, n)
		h.bytes += len(m.Data)
	}
}

// run lets virtual time pass until done() returns true or d is over.
func (p *pair) run(d time.Duration, done func() bool) {
	end := p.now.Add(d)
	for len(p.events) > 0 && !done() {
		e := p.events[0]
		if e.at > end {
			break
		}
		heap.Pop(&p.events)
		p.now = max(p.now, e.at)
		e.f()
	}
	if !done() {
		p.now = end
	}
}

func (p *pair) connect() {
	p.host[0].conn.SetTuples(p.now, p.tuples(0))
	p.host[0].conn.Connect(p.now)
	p.host[0].service()
	p.run(30*time.Second, func() bool {
		return p.host[0].conn.Session(p.now).Ready && p.host[1].conn.Session(p.now).Ready
	})
	if !p.host[1].conn.Session(p.now).Ready {
		p.t.Fatal("no session")
	}
}

// wantAll fails unless `side` has received every message from 0 to n-1 exactly once.
func (p *pair) wantAll(side, n int) {
	p.t.Helper()
	h := p.host[side]
	seen := map[uint64]int{}
	for _, v := range h.got {
		seen[v]++
	}
	for i := range uint64(n) {
		if seen[i] != 1 {
			p.t.Fatalf("message %d arrived %d times (of %d, %d expired)", i, seen[i], n, h.expired)
		}
	}
}

func never() bool { return false }
