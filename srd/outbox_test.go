package srd

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

// counter is an Owner that counts the calls of Done.
type counter int

func (c *counter) Done(Status) { *c++ }

// outTwin is a simple model of the outbox, made of maps. Messages are identified by their
// flow.
type outTwin struct {
	flow        map[uint64]uint32
	acked       map[uint64]bool
	first, next uint64
	retx        []uint64
	released    int
}

func (w *outTwin) open(n uint64) bool { _, ok := w.flow[n]; return ok && !w.acked[n] }

func (w *outTwin) ack(n uint64) {
	w.acked[n] = true
	w.released++
	for w.first < w.next && w.acked[w.first] {
		delete(w.flow, w.first)
		w.first++
	}
}

func (w *outTwin) fresh(n, word uint64) (v uint64) {
	for i := range uint64(64) {
		if word&(1<<i) != 0 && w.open(n+i) {
			v |= 1 << i
		}
	}
	return v
}

// outPair applies the same operations to an outbox and its model.
type outPair struct {
	t     *rapid.T
	o     outbox
	w     outTwin
	owner counter
}

func (p *outPair) push() {
	n := p.o.push(Message{Flow: uint32(p.w.next) * 7, Owner: &p.owner}, mono.Time(p.w.next))
	if n != p.w.next {
		p.t.Fatalf("push gave %d, want %d", n, p.w.next)
	}
	p.w.flow[n] = uint32(n) * 7
	p.w.next++
}

// drawNumber draws a message number in or near the range of the outbox.
func (p *outPair) drawNumber() uint64 {
	n := p.w.first + rapid.Uint64Range(0, p.w.next-p.w.first+130).Draw(p.t, "number")
	return n - min(n, rapid.Uint64Range(0, 70).Draw(p.t, "below"))
}

func (p *outPair) step() {
	switch rapid.IntRange(0, 5).Draw(p.t, "verb") {
	case 0, 1:
		for range rapid.SampledFrom([]int{1, 3, 63, 64, 65, 200}).Draw(p.t, "run") {
			if !p.o.full() {
				p.push()
			}
		}
	case 2:
		if n := p.drawNumber(); p.w.open(n) {
			p.o.ack(n)
			p.w.ack(n)
		}
	case 3:
		n, word := p.drawNumber(), rapid.Uint64().Draw(p.t, "word")
		got, want := p.o.fresh(n, word), p.w.fresh(n, word)
		if got != want {
			p.t.Fatalf("fresh(%d, %#x) = %#x, want %#x; box from %d to %d", n, word, got, want, p.w.first, p.w.next)
		}
		each(n, got, p.o.ack)
		each(n, want, p.w.ack)
	case 4:
		n := p.drawNumber()
		p.o.retx.push(n)
		p.w.retx = append(p.w.retx, n)
		if rapid.Bool().Draw(p.t, "unshift") {
			p.o.retx.unshift(n + 1)
			p.w.retx = append([]uint64{n + 1}, p.w.retx...)
		}
	case 5:
		for range rapid.IntRange(0, 3).Draw(p.t, "pops") {
			if len(p.w.retx) > 0 {
				if got := p.o.retx.pop(); got != p.w.retx[0] {
					p.t.Fatalf("pop gave %d, want %d", got, p.w.retx[0])
				}
				p.w.retx = p.w.retx[1:]
			}
		}
	}
}

func (p *outPair) wantSame() {
	if p.o.first != p.w.first || p.o.next != p.w.next || p.o.empty() != (p.w.first == p.w.next) {
		p.t.Fatalf("box from %d to %d, want %d to %d", p.o.first, p.o.next, p.w.first, p.w.next)
	}
	if int(p.owner) != p.w.released {
		p.t.Fatalf("%d payloads given back, want %d", p.owner, p.w.released)
	}
	if p.o.retx.len() != len(p.w.retx) || len(p.w.retx) > 0 && p.o.retx.peek() != p.w.retx[0] {
		p.t.Fatalf("%d numbers queued, want %d", p.o.retx.len(), len(p.w.retx))
	}
	for n := p.w.first - min(p.w.first, 2); n < p.w.next+2; n++ {
		if p.o.open(n) != p.w.open(n) {
			p.t.Fatalf("open(%d) = %v", n, p.o.open(n))
		}
		if p.w.open(n) && p.o.at(n).m.Flow != p.w.flow[n] {
			p.t.Fatalf("message %d is another", n)
		}
	}
}

func TestOutboxAgainstItsTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := outPair{t: t, w: outTwin{flow: map[uint64]uint32{}, acked: map[uint64]bool{}}}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			p.step()
			p.wantSame()
		}
		open := 0
		for n := p.w.first; n < p.w.next; n++ {
			if p.w.open(n) {
				open++
			}
		}
		if n := p.o.reset(); n != open || int(p.owner) != p.w.released+open {
			t.Fatalf("reset dropped %d of %d, %d payloads given back", n, open, p.owner)
		}
		if !p.o.empty() || p.o.next != 0 {
			t.Fatal("not empty after reset")
		}
	})
}

// The outbox does not grow beyond OutboxLimit, and works even when it is full.
func TestOutboxIsBounded(t *testing.T) {
	var o outbox
	var owner counter
	for !o.full() {
		o.push(Message{Owner: &owner}, 1)
	}
	if o.next-o.first != OutboxLimit || len(o.ring) != OutboxLimit {
		t.Fatalf("%d messages in a ring of %d", o.next-o.first, len(o.ring))
	}
	for n := uint64(0); n < 3*OutboxLimit; n++ {
		o.ack(n)
		if got := o.push(Message{Owner: &owner}, 1); got != n+OutboxLimit || !o.full() {
			t.Fatalf("push gave %d after %d was acknowledged", got, n)
		}
	}
	if len(o.ring) != OutboxLimit || owner != 3*OutboxLimit {
		t.Fatalf("ring of %d, %d payloads given back", len(o.ring), owner)
	}
}

func TestOutboxDoesNotAllocate(t *testing.T) {
	var o outbox
	var owner counter
	for range 100 {
		o.push(Message{Owner: &owner}, 1)
	}
	if a := testing.AllocsPerRun(1000, func() {
		n := o.push(Message{Owner: &owner}, 1)
		o.retx.push(n)
		o.retx.unshift(o.first)
		o.retx.pop()
		o.retx.pop()
		each(o.first, o.fresh(o.first, 1), o.ack)
	}); a != 0 {
		t.Fatalf("%v allocations", a)
	}
}
