package ep

import (
	"bytes"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// The package comment has this layout.
func TestHeaderGolden(t *testing.T) {
	for want, h := range map[srd.Imm]header{
		{1, 0, 0, 1, 2, 0x0f, 0xff, 0xff, 0, 1, 0, 4, 0}: {kind: kindPiece, number: 258, total: 1<<20 - 1, at: 256, size: 1024},
		{2, 0, 0, 0, 1, 0, 0, 0, 5}:                      {kind: kindCredit, taken: 1<<32 + 5},
		{3, 0, 0, 0, 7, 0, 0, 9, 0, 0, 4}:                {kind: kindRest, number: 7, total: 9, at: 4, size: 5},
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
}

// exchange holds both ends, and pieces under way without order.
type exchange struct {
	t    *rapid.T
	now  mono.Time
	out  outgoing
	in   incoming
	told []outcome

	flying []srd.Message
	sent   map[byte][]byte // by first byte
	status map[byte]Status
	got    map[byte]int
}

func newExchange(t *rapid.T) *exchange {
	x := &exchange{t: t, now: 1, sent: map[byte][]byte{}, status: map[byte]Status{}, got: map[byte]int{}}
	x.out.init(&x.told, func() {})
	return x
}

func (x *exchange) push(serial byte, n int, life time.Duration) {
	data := bytes.Repeat([]byte{serial}, n)
	x.sent[serial] = data
	x.out.push(x.now, data, life, func(s Status) {
		if _, again := x.status[serial]; again {
			x.t.Fatalf("message %d is told of twice", serial)
		}
		x.status[serial] = s
	})
}

// pull makes the sender send one piece.
func (x *exchange) pull(most int) bool {
	ready := x.out.backlog()
	m, ok := x.out.pull(x.now, most)
	if ok && !ready {
		x.t.Fatal("a piece without a backlog")
	}
	if ok {
		x.flying = append(x.flying, m)
	}
	return ok
}

// land delivers a piece, or its tombstone.
func (x *exchange) land(i int, lost bool) {
	m := x.flying[i]
	x.flying = append(x.flying[:i], x.flying[i+1:]...)
	if lost = lost && m.Class != srd.Reliable; lost {
		m.Owner.Done(srd.GivenUp)
		m.Data = nil
	}
	h, ok := parse(&m.Imm, len(m.Data), lost)
	if !ok || !x.in.add(&h, m.Data, lost) {
		x.t.Fatalf("an honest piece is refused: %+v, %v, %d held, %d partial", h, ok, x.in.held, x.in.partial)
	}
	if !lost {
		m.Owner.Done(srd.Acknowledged)
	}
	x.bounds()
}

func (x *exchange) bounds() {
	if x.in.held > window || x.in.held < 0 || x.in.partial > partialMost || x.in.partial < 0 || len(x.in.parts) > window/pieceCost {
		x.t.Fatalf("%d held, %d partial, %d parts", x.in.held, x.in.partial, len(x.in.parts))
	}
}

// take makes the application receive.
func (x *exchange) take() bool {
	data, ok := x.in.next()
	if ok {
		serial := data[0]
		if x.got[serial]++; x.got[serial] > 1 || !bytes.Equal(data, x.sent[serial]) {
			x.t.Fatalf("message %d came %d times, %d of %d bytes", serial, x.got[serial], len(data), len(x.sent[serial]))
		}
	}
	if x.in.owes() && !x.out.credit(x.in.taken) {
		x.t.Fatal("an honest credit is refused")
	}
	return ok
}

// In any order, and with any pieces given up, messages arrive whole and at most once.
// Each has one status, and both ends stay within their bounds.
func TestPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := newExchange(t)
		serial := byte(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				if serial == 255 {
					return
				}
				life := time.Duration(rapid.SampledFrom([]int{0, 1, 20}).Draw(t, "life")) * time.Millisecond
				x.push(serial, rapid.SampledFrom([]int{1, 100, 1148, 1149, 70_000, MaxMessage}).Draw(t, "bytes"), life)
				serial++
			},
			"pull": func(t *rapid.T) {
				most := rapid.SampledFrom([]int{64, 1400, 60_000}).Draw(t, "most")
				for range rapid.IntRange(1, 200).Draw(t, "pieces") {
					x.pull(most)
				}
			},
			"land": func(t *rapid.T) {
				for range min(len(x.flying), rapid.IntRange(0, 100).Draw(t, "pieces")) {
					x.land(rapid.IntRange(0, len(x.flying)-1).Draw(t, "which"), rapid.IntRange(0, 9).Draw(t, "lost") == 0)
				}
			},
			"take": func(t *rapid.T) { x.take() },
			"wait": func(t *rapid.T) { x.now = x.now.Add(time.Millisecond); x.out.expire(x.now) },
		})
		// In the end all reliable messages arrive.
		for x.take() || x.pull(1400) || len(x.flying) > 0 {
			for len(x.flying) > 0 {
				x.land(0, false)
			}
		}
		for _, o := range x.told {
			o.f(o.s)
		}
		for i := range serial {
			s, some := x.status[i]
			if !some || s == srd.Acknowledged && x.got[i] != 1 || s == srd.GivenUp && x.got[i] > 0 {
				t.Fatalf("message %d: %v, told %v, came %d times", i, s, some, x.got[i])
			}
		}
		if x.out.held != 0 || x.in.held != 0 || x.in.partial != 0 || len(x.in.parts) != 0 || len(x.out.queue) != 0 {
			t.Fatalf("left over: %+v %+v", x.out.held, x.in)
		}
	})
}

// No message from a peer takes memory beyond the bounds, or panics.
func FuzzPieces(f *testing.F) {
	f.Add([]byte{1, 0, 0, 1, 2, 0x0f, 0xff, 0xff, 0, 1, 0, 4, 0, 0})
	f.Add([]byte{3, 0, 0, 0, 7, 0, 0, 9, 0, 0, 4, 0, 0, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var in incoming
		room := make([]byte, pieceMost)
		for frame := len(srd.Imm{}) + 1; len(b) >= frame; b = b[frame:] {
			imm := srd.Imm(b)
			expired := b[len(imm)]&1 != 0
			n := 0
			if imm[0] == kindPiece && !expired {
				n = int(imm[11])<<8 | int(imm[12])
			}
			h, ok := parse(&imm, n, expired)
			if !ok || h.kind == kindCredit {
				continue
			}
			if !in.add(&h, room[:n], expired) {
				return // the connection ends
			}
			if in.held > window || in.partial > partialMost || in.partial < 0 {
				t.Fatalf("%d held, %d partial", in.held, in.partial)
			}
			if b[len(imm)]&2 != 0 {
				in.next()
			}
		}
	})
}

// A peer that sends more than it may, or acknowledges pieces that were never sent, is
// caught.
func TestPiecesBeyondTheWindow(t *testing.T) {
	var in incoming
	h := header{kind: kindPiece, total: 1 << 15, size: 1 << 15}
	data := make([]byte, h.size)
	n := 0
	for in.add(&h, data, false) {
		h.number++
		n++
	}
	if n == 0 || in.held > window || in.held+h.price() <= window {
		t.Errorf("%d messages, %d held", n, in.held)
	}
	in = incoming{}
	for h = (header{kind: kindPiece, total: MaxMessage, size: 1}); in.add(&h, data[:1], false); h.number++ {
		if in.partial > partialMost {
			t.Fatalf("%d bytes for beginnings", in.partial)
		}
	}
	var out outgoing
	out.init(new([]outcome), func() {})
	if out.credit(1) {
		t.Error("a credit for what was never sent")
	}
}
