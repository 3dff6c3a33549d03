package srd_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/srdtun/srdtun/internal/inspect"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
)

// pauseOf is how long a process that follows another takes to begin.
const pauseOf = 150 * time.Millisecond

// handOver ends h's process and returns what the next goes on from.
func (h *host) handOver() *srd.State {
	h.p.t.Helper()
	st, ok := h.conn.Suspend(h.p.now)
	if !ok {
		h.p.t.Fatal("there is nothing to go on from")
	}
	back, err := srd.ParseState(st.Append(nil))
	if err != nil {
		h.p.t.Fatal(err)
	}
	return back
}

// goOn starts the next process of h after the pause. What comes meanwhile waits in its sockets.
func (h *host) goOn(st *srd.State) {
	h.p.t.Helper()
	h.start()
	h.stopped = h.p.now.Add(pauseOf)
	h.p.run(pauseOf, never)
	if err := h.conn.Resume(h.p.now, st); err != nil {
		h.p.t.Fatal(err)
	}
	h.conn.SetTuples(h.p.now, h.p.tuples(h.side))
	h.service()
}

// wantEachOnce fails if a message came twice.
func (h *host) wantEachOnce() {
	h.p.t.Helper()
	seen := map[uint64]bool{}
	for _, n := range h.got {
		if seen[n] {
			h.p.t.Fatalf("side %d has message %d twice", h.side, n)
		}
		seen[n] = true
	}
}

// Another process goes on under load in both directions, several times: the peer is called
// by nobody and calls nobody, it sees no other incarnation, no nonce is used twice (pair
// looks at each), and no message comes twice.
func TestAnotherProcessGoesOn(t *testing.T) {
	for seed := range uint64(4) {
		for side := range 2 {
			links := four(50*mbit, 300*time.Microsecond)
			for _, l := range links {
				l.loss, l.swap = 0.01, 0.05
			}
			p := newPair(t, seed+1, links...)
			p.connect()
			for _, h := range p.host {
				h.src = source{left: 1 << 30, size: 1000}
				h.service()
			}
			p.run(200*time.Millisecond, never)
			h, other := p.host[side], p.host[1-side]
			since, met := h.conn.Session(p.now).Since, other.conn.Stats().Handshakes
			for range 3 {
				st := h.handOver()
				if h.src.open != 0 {
					t.Errorf("%d payloads are held", h.src.open)
				}
				void := h.conn.Stats().Sent - h.conn.Stats().Acked
				h.goOn(st)
				here, there := len(h.got), len(other.got)
				p.run(300*time.Millisecond, never)
				if len(h.got) < here+500 || len(other.got) < there+500 {
					t.Errorf("seed %d, side %d: %d and %d messages came after it", seed, side, len(h.got)-here, len(other.got)-there)
				}
				if n := uint64(other.expired); n > void {
					t.Errorf("%d tombstones came for %d messages", n, void)
				}
				other.expired = 0
				if err := inspect.Sound(h.conn); err != nil {
					t.Error(err)
				}
			}
			if s := h.conn.Session(p.now); s.Since != since || h.conn.Stats().Handshakes != 0 {
				t.Errorf("seed %d, side %d: the session is of %v, was of %v; %d handshakes", seed, side, s.Since, since, h.conn.Stats().Handshakes)
			}
			if other.conn.Stats().Handshakes != met || other.conn.Restarted() {
				t.Errorf("seed %d, side %d: the peer noticed it", seed, side)
			}
			for _, h := range p.host {
				h.wantEachOnce()
				h.src.left = 0
			}
			p.run(10*time.Second, never)
			for _, h := range p.host {
				if h.conn.Backlog() || h.src.open != 0 {
					t.Errorf("seed %d, side %d: something is stuck", seed, side)
				}
			}
		}
	}
}

// A path that is opened where one was closed before the hand-over numbers its packets on: they
// go under the same key, and pair looks at each nonce.
func TestSlotThatWasFreeNumbersOn(t *testing.T) {
	p := newPair(t, 2, four(5*mbit, 300*time.Microsecond)...)
	p.connect()
	h := p.host[0]
	h.src = source{left: 1 << 30, size: 1000}
	h.service()
	p.run(time.Second, never)
	open := len(h.conn.Paths())
	h.conn.SetTuples(p.now, p.tuples(0)[:1])
	for _, l := range p.links[1:] {
		l.dead = [2]bool{true, true}
	}
	p.run(45*time.Second, never) // a path that answers no more is let go after thirty challenges
	if n := len(h.conn.Paths()); n >= open {
		t.Fatalf("%d paths of %d are left with one tuple", n, open)
	}
	since := h.conn.Session(p.now).Since
	for _, l := range p.links[1:] {
		l.dead = [2]bool{}
	}
	h.goOn(h.handOver())
	h.src.left = 1 << 30
	p.run(2*time.Second, never)
	if n := len(h.conn.Paths()); n < open {
		t.Errorf("%d paths with all tuples, %d before", n, open)
	}
	if s := h.conn.Session(p.now).Since; s != since {
		t.Error("another session: nothing could be used twice")
	}
}

// Between two that say nothing nothing is sent for it either: no handshake, no challenge.
func TestIdlePeersNoticeNothing(t *testing.T) {
	p := newPair(t, 3, four(100*mbit, time.Millisecond)...)
	p.connect()
	p.run(20*time.Second, never)
	h := p.host[0]
	paths := len(h.conn.Paths())
	sealed := p.sealed.packets
	h.goOn(h.handOver())
	p.run(5*time.Second, never)
	if n := p.sealed.packets - sealed; n != 0 {
		t.Errorf("%d packets were sent", n)
	}
	if got := h.conn.Paths(); len(got) != paths {
		t.Errorf("%d paths of %d", len(got), paths)
	}
	for _, i := range h.conn.Paths() {
		if i.State != srd.PathActive || i.MTU != 1472 || i.RTT == 0 {
			t.Errorf("path %+v", i)
		}
	}
}

// Who has given its keys away seals nothing any more and takes no others.
func TestSuspendedForGood(t *testing.T) {
	p := newPair(t, 5, four(100*mbit, time.Millisecond)...)
	p.connect()
	for _, h := range p.host {
		h.src = source{left: 1 << 20, size: 1000}
		h.service()
	}
	p.run(50*time.Millisecond, never)
	h, packets := p.host[1], 0
	p.tap = func(side, _ int, b []byte) {
		if side == 1 {
			packets++
		}
	}
	if _, ok := h.conn.Suspend(p.now); !ok {
		t.Fatal("no session")
	}
	if _, ok := h.conn.Suspend(p.now); ok {
		t.Error("given away twice")
	}
	h.conn.SetTuples(p.now, p.tuples(1))
	h.conn.SetKeepalive(p.now, time.Second)
	for range 50 { // the peer calls: it hears nothing
		h.conn.Connect(p.now)
		h.conn.Greet(p.now)
		p.run(100*time.Millisecond, never)
	}
	if packets > 0 || h.conn.Session(p.now).Ready || len(h.index) > 0 {
		t.Errorf("%d packets, ready %v, %d indices", packets, h.conn.Session(p.now).Ready, len(h.index))
	}
	if h.conn.Stats().Drops[srd.DropSessionOld] == 0 {
		t.Error("nobody called")
	}
}

// What came before is refused after it, all of it.
func TestReplayedAfterTheRestart(t *testing.T) {
	p := newPair(t, 7, four(100*mbit, time.Millisecond)...)
	var seen [][]byte
	p.tap = func(side, _ int, b []byte) {
		if _, data := srd.DataIndex(b); side == 0 && data {
			seen = append(seen, bytes.Clone(b))
		}
	}
	p.connect()
	p.host[0].src = source{left: 3000, size: 1000}
	p.host[0].service()
	p.run(2*time.Second, never)
	h := p.host[1]
	got := len(h.got)
	p.tap = nil
	h.goOn(h.handOver())
	for i, b := range seen {
		h.receive(i%4, b)
	}
	p.run(time.Second, never)
	if len(h.got) != got || h.conn.Stats().Received != 0 {
		t.Errorf("%d messages were taken again", len(h.got)-got)
	}
	if len(seen) < 1000 {
		t.Errorf("only %d packets were recorded", len(seen))
	}
}

// A state that somebody kept is worth nothing once the peer has met another process.
func TestStaleState(t *testing.T) {
	p := newPair(t, 9, four(100*mbit, time.Millisecond)...)
	p.connect()
	h, other := p.host[0], p.host[1]
	h.src = source{left: 100, size: 1000}
	h.service()
	p.run(time.Second, never)
	st := h.handOver()
	h.start() // one that was given nothing
	p.connect()
	p.run(time.Second, never)
	h.conn.Suspend(p.now)
	before, met := len(other.got), other.conn.Stats().Handshakes
	h.goOn(st)
	h.src.left = 100
	h.service()
	p.run(300*time.Millisecond, never)
	if len(other.got) != before {
		t.Error("something came under the old keys")
	}
	p.run(5*time.Second, never)
	if other.conn.Stats().Handshakes == met || len(other.got) == before {
		t.Error("no new session was made")
	}
	other.wantEachOnce()
}

// Numbers of a slot that no path uses any more go on as well.
func TestNumbersOfFreeSlotsGoOn(t *testing.T) {
	p := newPair(t, 11, four(100*mbit, time.Millisecond)...)
	p.connect()
	h := p.host[0]
	h.src = source{left: 4000, size: 1000}
	h.service()
	p.run(2*time.Second, never)
	for range 3 {
		h.conn.SetTuples(p.now, nil)
		for i := range p.links {
			p.links[i].dead = [2]bool{true, true}
		}
		h.src.left = 100
		h.service()
		p.run(400*time.Millisecond, never)
		for i := range p.links {
			p.links[i].dead = [2]bool{}
		}
		h.goOn(h.handOver())
		h.src.left = 400
		h.service()
		p.run(3*time.Second, never)
	}
	p.host[1].wantEachOnce()
}

// refusals are states that no connection goes on from, each with what it says.
func TestStatesThatAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		want   string
		change func(p *pair, h *host)
	}{
		"old":    {"its keys are too old", func(p *pair, _ *host) { p.now = p.now.Add(180 * time.Second) }},
		"future": {"its times do not fit the clock", func(p *pair, _ *host) { p.now = 1 }},
		"index": {"its receiver index is taken", func(_ *pair, h *host) {
			for i := range h.was {
				h.index[i] = &entry{}
			}
		}},
		"cipher": {"its cipher is not to be used any more", func(_ *pair, h *host) { h.restartWith(handshake.ChaCha20Poly1305) }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, 13, four(100*mbit, time.Millisecond)...)
			p.connect()
			h := p.host[0]
			h.was = map[uint32]*entry{}
			for i, e := range h.index {
				h.was[i] = e
			}
			st := h.handOver()
			h.start()
			c.change(p, h)
			taken := len(h.index)
			if err := h.conn.Resume(p.now, st); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
			if len(h.index) != taken || h.conn.Session(p.now).Ready {
				t.Error("something stays of it")
			}
			if _, err := srd.ParseState(st.Append(nil)); err == nil {
				t.Error("the keys were not wiped")
			}
			if name == "future" {
				return
			}
			h.conn.SetTuples(p.now, p.tuples(0)) // a session is made anew
			h.conn.Connect(p.now)
			h.service()
			p.run(time.Second, never)
			if name != "cipher" && !h.conn.Session(p.now).Ready {
				t.Error("no session")
			}
		})
	}
}

// Whatever is cut or changed, a state is refused or gone on from, and nothing else.
func FuzzState(f *testing.F) {
	state := func(load int) []byte {
		p := newPair(f, 15, four(100*mbit, time.Millisecond)...)
		p.connect()
		for _, h := range p.host {
			h.src = source{left: load, size: 1000}
			h.service()
		}
		p.run(20*time.Millisecond, never)
		st, _ := p.host[0].conn.Suspend(p.now)
		return st.Append(nil)
	}
	for _, load := range []int{0, 5, 10_000} {
		b := state(load)
		f.Add(b)
		f.Add(b[:len(b)/2])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		st, err := srd.ParseState(b)
		if err != nil {
			return
		}
		if again, err := srd.ParseState(st.Append(nil)); err != nil || !bytes.Equal(again.Append(nil), st.Append(nil)) {
			t.Fatalf("written and read it is another one: %v", err)
		}
		p := newPair(t, 17, four(100*mbit, time.Millisecond)...)
		h := p.host[0]
		if h.conn.Resume(p.now, st) != nil {
			return
		}
		if err := inspect.Within(h.conn); err != nil {
			t.Fatal(err)
		}
		h.conn.SetTuples(p.now, p.tuples(0))
		h.src = source{left: 50, size: 1000}
		now := p.now
		for range 20 { // its peer does not know it
			h.conn.Advance(now)
			for n := 0; n < 1000 && h.conn.Next(now, h.train, &h.src); n++ {
				h.train.Seal()
			}
			now = now.Add(50 * time.Millisecond)
		}
	})
}
