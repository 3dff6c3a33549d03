package ep

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// The layout of the header is that in the package comment.
func TestHeaderGolden(t *testing.T) {
	for want, h := range map[srd.Imm]header{
		{1, 0, 0, 1, 2, 0x7f, 0xff, 0xff, 0, 1, 0, 4, 0}:    {kind: kindPiece, number: 258, total: 1<<23 - 1, at: 256, size: 1024},
		{0xc1, 0, 0, 0, 9, 0, 0, 8, 0, 0, 0, 0, 8}:          {kind: kindPiece, flags: flagImmediate | flagSolicited, number: 9, total: 8, size: 8},
		{2, 1, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}:             {kind: kindAnswer, ready: 258},
		{0x43, 0, 0, 0, 7, 0, 0, 9, 0, 0, 4, 0, 0}:          {kind: kindRest, flags: flagSolicited, number: 7, total: 9, at: 4, size: 5},
		{3, 0xff, 0xff, 0xff, 0xff, 0x80, 0, 4, 0x80, 0, 3}: {kind: kindRest, number: 1<<32 - 1, total: totalMost, at: totalMost - 1, size: 1},
	} {
		var b srd.Imm
		if h.put(&b); b != want {
			t.Errorf("%+v is %x", h, b)
		}
		n := 0
		if h.kind == kindPiece {
			n = h.size
		}
		if got, ok := parse(&b, n, false); !ok || got != h {
			t.Errorf("%x is %+v, %v", b, got, ok)
		}
	}
	if b := appendAnswer(nil, 258, notReady); !bytes.Equal(b, []byte{0, 0, 1, 2, 3}) {
		t.Errorf("an answer is %x", b)
	}
}

// desk simulates a receiving program: its posted buffers, and the messages received in them.
type desk struct {
	regions regions
	posted  []receive
	out     int // number of reserved receives
	most    int // highest value of out
	refused int
	got     func(p *part)
}

func (d *desk) take(size int, _ bool) (receive, verdict) {
	if len(d.posted) == 0 {
		d.refused++
		return receive{}, notReady
	}
	r := d.posted[0]
	if len(r.buf) < size {
		return receive{}, tooLong
	}
	d.posted = d.posted[1:]
	d.out++
	d.most = max(d.most, d.out)
	return r, accepted
}

// owner is the peer that may access the regions of a desk.
var owner = PublicKey{1}

func (d *desk) region(size int, access Access) *Region {
	r := &Region{of: &d.regions, peer: owner, access: access, size: size, buf: make([]byte, size)}
	d.regions.add(r)
	return r
}

func (d *desk) find(at Remote, size int, access Access) *Region {
	return d.regions.find(owner, at, size, access)
}

func (d *desk) giveBack(r receive) {
	d.out--
	d.posted = append([]receive{r}, d.posted...)
}

func (d *desk) deliver(p *part) {
	if p.reserved {
		d.out--
	}
	d.got(p)
}

// exchange holds both ends, and the pieces in flight, which may arrive in any order.
type exchange struct {
	t    *rapid.T
	now  mono.Time
	out  outgoing
	in   incoming
	desk desk

	flying, back []srd.Message
	sent         map[uint64][]byte // sent messages, by context
	status       map[uint64]Status
	got          map[uint64]int
	posts        int
}

const deskBuffer = 70_000

func newExchange(t *rapid.T) *exchange {
	x := &exchange{t: t, now: 1, sent: map[uint64][]byte{}, status: map[uint64]Status{}, got: map[uint64]int{}}
	x.out = outgoing{refuse: func() {}, finish: func(r *request, s Status) {
		if was, again := x.status[r.context]; again {
			x.t.Fatalf("request %d is %v, and then %v", r.context, was, s)
		}
		x.status[r.context] = s
	}}
	x.desk.got = func(p *part) {
		k := uint64(p.immediate())
		if x.got[k]++; x.got[k] > 1 || !bytes.Equal(p.r.buf[:p.bytes()], x.sent[k]) {
			x.t.Fatalf("message %d came %d times, with %d of %d bytes", k, x.got[k], p.bytes(), len(x.sent[k]))
		}
	}
	x.in = incoming{from: &x.desk, holdMost: 3}
	return x
}

func (x *exchange) push(n int, life time.Duration, retries int) {
	k := uint64(len(x.sent))
	x.sent[k] = bytes.Repeat([]byte{byte(k) | 1}, n)
	o := SendOptions{Context: k, Immediate: uint32(k), HasImmediate: true, NotReady: retries}
	r := newRequest(nil, x.sent[k], &o)
	if life > 0 {
		r.until = x.now.Add(life)
	}
	x.out.push(r)
}

func (x *exchange) post() {
	x.desk.posted = append(x.desk.posted, receive{buf: bytes.Repeat([]byte{0xee}, deskBuffer)})
	x.posts++
}

// drawPull sends some pieces.
func (x *exchange) drawPull(t *rapid.T) {
	most := rapid.SampledFrom([]int{64, 1400, 60_000}).Draw(t, "most")
	for range rapid.IntRange(1, 50).Draw(t, "pieces") {
		x.pull(most)
	}
}

// drawLand makes some of the pieces arrive or get lost, in any order.
func (x *exchange) drawLand(t *rapid.T) {
	for range min(len(x.flying), rapid.IntRange(0, 100).Draw(t, "pieces")) {
		x.land(rapid.IntRange(0, len(x.flying)-1).Draw(t, "which"), rapid.IntRange(0, 9).Draw(t, "lost") == 0)
	}
}

// drawHear makes some of the answers arrive, in any order.
func (x *exchange) drawHear(t *rapid.T) {
	for range min(len(x.back), rapid.IntRange(0, 20).Draw(t, "messages")) {
		x.hear(rapid.IntRange(0, len(x.back)-1).Draw(t, "which"))
	}
}

// pull makes both ends send one message.
func (x *exchange) pull(most int) bool {
	did := false
	ready := x.out.backlog()
	m, ok := x.out.pull(x.now, most)
	if ok && !ready {
		x.t.Fatal("a piece without a backlog")
	}
	if ok {
		x.flying, did = append(x.flying, m), true
	}
	if x.in.answers.waiting() {
		x.back, did = append(x.back, x.in.answers.pull(most)), true
	}
	if m, ok := x.in.reads.pull(most); ok {
		x.back, did = append(x.back, m), true
	}
	return did
}

// land delivers a piece, or its tombstone.
func (x *exchange) land(i int, lost bool) {
	m := x.flying[i]
	x.flying = append(x.flying[:i], x.flying[i+1:]...)
	if lost = lost && m.Class != srd.Reliable; lost {
		m.Data = nil
	}
	h, ok := parse(&m.Imm, len(m.Data), lost)
	if ok && h.kind == kindRead {
		ok = x.in.read(&h, m.Data)
	} else if ok {
		ok = x.in.add(x.now, &h, m.Data, lost)
	}
	if !ok {
		x.t.Fatalf("an honest piece is refused: %+v, %v, %d parts", h, ok, len(x.in.parts))
	}
	if lost {
		m.Owner.Done(srd.GivenUp)
	} else {
		m.Owner.Done(srd.Acknowledged)
	}
	x.bounds()
}

// hear delivers a message of answers, or a piece of a reply.
func (x *exchange) hear(i int) {
	m := x.back[i]
	x.back = append(x.back[:i], x.back[i+1:]...)
	h, ok := parse(&m.Imm, len(m.Data), false)
	if ok && h.kind == kindReply {
		ok = x.out.reply(&h, m.Data)
	} else if ok {
		ok = x.out.answer(x.now, m.Data, h.ready)
	}
	if !ok {
		x.t.Fatalf("an honest answer is refused: %x", m.Data)
	}
	m.Owner.Done(srd.Acknowledged)
}

func (x *exchange) bounds() {
	if x.in.holding != x.desk.out || x.desk.most > x.in.holdMost+1 || len(x.in.parts) > requestsMost || len(x.out.open) > requestsMost {
		x.t.Fatalf("%d held, %d reserved, at most %d; %d parts, %d open", x.in.holding, x.desk.out, x.desk.most, len(x.in.parts), len(x.out.open))
	}
}

// settle runs both ends until no piece and no answer is in flight.
func (x *exchange) settle() {
	for range 100_000 {
		did := x.pull(1400)
		for len(x.flying) > 0 {
			x.land(0, false)
			did = true
		}
		for len(x.back) > 0 {
			x.hear(0)
			did = true
		}
		if did {
			continue
		}
		if x.out.idle() {
			return
		}
		x.now = x.now.Add(notReadyLast)
		x.out.expire(x.now)
		x.in.expire(x.now)
		x.post()
	}
	x.t.Fatalf("requests never end: %+v", x.out)
}

// With any order of pieces, any pieces given up and any receives posted, each request has
// exactly one completion. If its status is StatusOK, the message has arrived completely. No
// receive is lost.
func TestRequests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newExchange(t)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				life := time.Duration(rapid.SampledFrom([]int{0, 1, 20}).Draw(t, "life")) * time.Millisecond
				size := rapid.SampledFrom([]int{0, 1, 100, 1144, 1145, EagerMost - 4, EagerMost - 3, deskBuffer, deskBuffer + 1}).Draw(t, "bytes")
				x.push(size, life, rapid.SampledFrom([]int{-1, 0, 3}).Draw(t, "retries"))
			},
			"post": func(*rapid.T) { x.post() },
			"pull": x.drawPull,
			"land": x.drawLand,
			"hear": x.drawHear,
			"wait": func(*rapid.T) {
				x.now = x.now.Add(time.Millisecond)
				x.out.expire(x.now)
				x.in.expire(x.now)
			},
			"flush": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 {
					x.out.flush(nil)
				}
			},
		})
		x.settle()
		for k, data := range x.sent {
			s, some := x.status[k]
			impossible := s == StatusReset || s == StatusUnresponsive || s == StatusBadDestination || s == StatusRemoteInvalid && len(data) <= deskBuffer
			if !some || impossible || s == StatusOK && x.got[k] != 1 || (s == StatusNotReady || s == StatusRemoteInvalid) && x.got[k] > 0 {
				t.Fatalf("request %d of %d bytes: %v (told %v), came %d times", k, len(data), s, some, x.got[k])
			}
		}
		arrived := 0
		for _, n := range x.got {
			arrived += n
		}
		if len(x.in.parts) != 0 || x.desk.out != 0 || len(x.desk.posted)+arrived != x.posts || x.out.pieces != 0 || len(x.out.open) != 0 {
			t.Fatalf("left over: %d parts, %d reserved, %d posted and %d arrived of %d, %d pieces, %d open", len(x.in.parts), x.desk.out, len(x.desk.posted), arrived, x.posts, x.out.pieces, len(x.out.open))
		}
	})
}

// After a reset, requests that had begun are not sent again, and waiting requests are kept.
func TestResetSparesWhatWaits(t *testing.T) {
	told := map[uint64]Status{}
	out := outgoing{refuse: func() {}, finish: func(r *request, s Status) { told[r.context] = s }}
	for k := range uint64(3) {
		out.push(newRequest(nil, make([]byte, 100), &SendOptions{Context: k}))
	}
	m, _ := out.pull(1, 1000)
	out.reset()
	m.Owner.Done(srd.Reset)
	if len(told) != 1 || told[0] != StatusReset || out.waiting.len() != 2 || !out.backlog() {
		t.Errorf("%v, %d wait", told, out.waiting.len())
	}
}

// Each write and read has exactly one completion. If it succeeds, its bytes are correct. No
// byte is written outside its range, or after its region was closed.
func TestWritesAndReads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const size, slots = 20_000, 8
		x := newExchange(t)
		x.desk.got = func(*part) {}
		region := x.desk.region(size*slots, AccessRead|AccessWrite)
		memory := region.buf
		original := bytes.Repeat([]byte{0xaa}, size*slots)
		copy(memory, original)
		was := original
		ops, written := map[uint64]*request{}, map[int]bool{}
		dests := map[uint64][]byte{}
		t.Repeat(map[string]func(*rapid.T){
			"write": func(t *rapid.T) {
				slot := len(written)
				if slot == slots/2 {
					return
				}
				written[slot] = true
				o := SendOptions{Context: uint64(len(ops))}
				r := newWrite(nil, region.Remote(slot*size), bytes.Repeat([]byte{0xbb}, rapid.IntRange(0, size).Draw(t, "bytes")), &o)
				if rapid.Bool().Draw(t, "deadline") {
					r.until = x.now.Add(time.Millisecond)
				}
				ops[o.Context] = r
				x.out.push(r)
			},
			"read": func(t *rapid.T) {
				o := SendOptions{Context: uint64(len(ops))}
				dest := make([]byte, rapid.IntRange(0, size).Draw(t, "bytes"))
				r := newRead(nil, region.Remote((slots/2)*size), dest, &o)
				ops[o.Context], dests[o.Context] = r, dest
				x.out.push(r)
			},
			"pull": x.drawPull,
			"land": x.drawLand,
			"hear": x.drawHear,
			"wait": func(*rapid.T) {
				x.now = x.now.Add(time.Millisecond)
				x.out.expire(x.now)
			},
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 9).Draw(t, "really") == 0 && region.buf != nil {
					region.Close()
					was = bytes.Clone(memory)
				}
			},
		})
		x.settle()
		if region.buf == nil && !bytes.Equal(was, memory) {
			t.Fatal("bytes were written after Close")
		}
		if !bytes.Equal(memory[slots/2*size:], original[slots/2*size:]) {
			t.Fatal("bytes were written beside the writes")
		}
		for k := range ops {
			s, some := x.status[k]
			if dest := dests[k]; !some || s == StatusOK && dest != nil && !bytes.Equal(dest, original[:len(dest)]) {
				t.Fatalf("request %d: %v (told %v)", k, s, some)
			}
		}
		if len(x.in.parts) != 0 || !x.in.reads.idle() || x.out.pieces != 0 || len(x.out.open) != 0 {
			t.Fatalf("left over: %d parts, %d replies, %d pieces, %d open", len(x.in.parts), len(x.in.reads.open), x.out.pieces, len(x.out.open))
		}
	})
}
