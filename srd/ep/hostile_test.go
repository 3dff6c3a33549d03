package ep

import (
	"testing"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// victim returns the receiving part of an endpoint with some posted receives.
func victim(posted, size int) (*incoming, *desk) {
	d := &desk{got: func(*part) {}}
	for range posted {
		d.posted = append(d.posted, receive{buf: make([]byte, size)})
	}
	return &incoming{from: d, holdMost: max(1, posted/2)}, d
}

// A peer begins messages and completes none. It reserves at most half of the receives, and
// loses them when its messages make no progress.
func TestBegunMessagesDoNotHoldReceives(t *testing.T) {
	in, d := victim(8, 1000)
	h := header{kind: kindPiece, total: 1000, size: 1}
	for ; h.number < 100; h.number++ {
		if !in.add(1, &h, []byte{1}, false) {
			t.Fatal("the session ended")
		}
	}
	if d.out != 4 || len(d.posted) != 4 {
		t.Errorf("%d reserved, %d free", d.out, len(d.posted))
	}
	in.expire(mono.Time(1).Add(assemblyMost))
	if d.out != 0 || len(d.posted) != 8 {
		t.Errorf("later %d reserved, %d free", d.out, len(d.posted))
	}
}

// Without posted receives, a flood of messages occupies memory for parts and answers up to
// their bounds. Then the session ends.
func TestFloodWithoutReceives(t *testing.T) {
	for name, size := range map[string]int{"begun": 1, "whole": 1000} {
		in, _ := victim(0, 0)
		h := header{kind: kindPiece, total: 1000, size: size}
		data := make([]byte, size)
		for in.add(1, &h, data, false) {
			h.number++
			if len(in.parts) > requestsMost || in.answers.unheard() > answersMost+requestsMost {
				t.Fatalf("%s: %d parts, %d answers", name, len(in.parts), in.answers.unheard())
			}
		}
		if h.number != requestsMost && h.number != answersMost {
			t.Errorf("%s: ended after %d", name, h.number)
		}
	}
}

// If a peer acknowledges no answers, the number of stored answers is bounded, although the
// transport accepts them.
func TestUnacknowledgedAnswers(t *testing.T) {
	in, d := victim(0, 0)
	h := header{kind: kindPiece, total: 1, size: 1}
	for in.add(1, &h, []byte{1}, false) {
		h.number++
		for in.answers.waiting() {
			in.answers.pull(1000)
		}
		if h.number > answersMost {
			t.Fatal("without bound")
		}
	}
	if d.refused != answersMost {
		t.Errorf("ended after %d", d.refused)
	}
}

// Overlapping pieces could leave holes, which would expose bytes of older messages to the
// application. Whatever the pieces are, a message with a hole is not delivered.
func TestNoMessageHasAHole(t *testing.T) {
	piece := func(at, size int) header {
		return header{kind: kindPiece, total: 100, at: at, size: size}
	}
	for name, pieces := range map[string][]header{
		"twice the same":         {piece(0, 50), piece(0, 50)},
		"an overlap":             {piece(0, 60), piece(20, 40)},
		"the middle three times": {piece(0, 25), piece(25, 25), piece(25, 25), piece(25, 25)},
		"without beginning":      {piece(50, 50), piece(50, 50)},
	} {
		in, d := victim(2, 100)
		d.got = func(*part) { t.Errorf("%s: delivered", name) }
		ok := true
		for i := range pieces {
			ok = ok && in.add(1, &pieces[i], make([]byte, pieces[i].size), false)
		}
		if ok {
			t.Errorf("%s: the session goes on", name)
		}
	}
	in, d := victim(1, 100)
	n := 0
	d.got = func(*part) { n++ }
	for _, h := range []header{piece(60, 40), piece(0, 10), piece(30, 30), piece(10, 20)} {
		if !in.add(1, &h, make([]byte, h.size), false) {
			t.Fatal("an honest piece is refused")
		}
	}
	if n != 1 {
		t.Error("an honest message is not delivered")
	}
}

// Before the receiver has reserved a receive, it accepts no bytes beyond the first
// EagerMost.
func TestNothingBeyondTheGrant(t *testing.T) {
	in, _ := victim(1, 1<<20)
	h := header{kind: kindPiece, total: 1 << 20, at: EagerMost, size: 1000}
	if in.add(1, &h, make([]byte, 1000), false) {
		t.Error("taken")
	}
}

// A peer whose key was revoked cannot reserve a receive, and its request is refused.
func TestRevokedPeerReservesNothing(t *testing.T) {
	in, d := victim(4, 100)
	in.barred = true
	h := header{kind: kindPiece, total: 1, size: 1}
	if !in.add(1, &h, []byte{1}, false) || d.out != 0 || len(d.posted) != 4 {
		t.Error("it reserved a receive")
	}
	if b := in.answers.queue; len(b) != answerLen || verdict(b[4]) != barred {
		t.Errorf("answer %x", b)
	}
}

// A responder sends false answers. None of them completes a request that was not completely
// sent, and each ends the session.
func TestLiesInAnswers(t *testing.T) {
	for name, x := range map[string]struct {
		size, pulls int
		answer      []byte
	}{
		"a request that was never made":   {100, 1, appendAnswer(nil, 7, accepted)},
		"accepted before it was sent":     {5000, 1, appendAnswer(nil, 0, accepted)},
		"refused before it was sent":      {5000, 1, appendAnswer(nil, 0, notReady)},
		"granted though it is short":      {100, 1, appendAnswer(nil, 0, granted)},
		"granted before it was asked":     {50_000, 1, appendAnswer(nil, 0, granted)},
		"granted twice":                   {50_000, 100, appendAnswer(appendAnswer(nil, 0, granted), 0, granted)},
		"accepted without the rest":       {50_000, 100, appendAnswer(nil, 0, accepted)},
		"answered twice":                  {100, 1, appendAnswer(appendAnswer(nil, 0, accepted), 0, accepted)},
		"no verdict":                      {100, 1, appendAnswer(nil, 0, 0)},
		"a verdict of another version":    {100, 1, appendAnswer(nil, 0, denied+1)},
		"denied though it is no write":    {100, 1, appendAnswer(nil, 0, denied)},
		"gone though nothing was missing": {5000, 1, appendAnswer(nil, 0, gone)},
	} {
		out := outgoing{refuse: func() {}, finish: func(*request, Status) {}}
		out.push(newRequest(nil, make([]byte, x.size), &SendOptions{}))
		for range x.pulls {
			out.pull(1, 1000)
		}
		if out.answer(1, x.answer, 0) {
			t.Errorf("%s: believed", name)
		}
	}
}

// Any number of announcements of receives only changes a counter. Any number of refusals
// does not make a sender send faster than its retry timer allows.
func TestLiesInAnnouncements(t *testing.T) {
	out := outgoing{refuse: func() {}, finish: func(*request, Status) {}}
	for range 2 * requestsMost {
		out.push(newRequest(nil, make([]byte, 100), &SendOptions{}))
	}
	for range 1000 {
		out.answer(1, nil, readyMost)
	}
	n := 0
	for ; out.backlog(); n++ {
		out.pull(1, 1000)
	}
	if n != requestsMost {
		t.Errorf("%d requests begin", n)
	}
	now := mono.Time(1)
	for number := range uint32(requestsMost) {
		out.answer(now, appendAnswer(nil, number, notReady), 0)
	}
	tries := 0
	for end := now.Add(10 * notReadyLast); now < end; now = now.Add(notReadyFirst) {
		if m, ok := out.pull(now, 1000); ok {
			tries++
			m.Owner.Done(srd.Acknowledged)
			h, _ := parse(&m.Imm, len(m.Data), false)
			out.answer(now, appendAnswer(nil, h.number, notReady), 0)
		}
	}
	if tries > 25 {
		t.Errorf("%d tries in %v", tries, 10*notReadyLast)
	}
}

// No message from a peer causes a panic, or occupies memory beyond the bounds.
func FuzzPieces(f *testing.F) {
	f.Add([]byte{1, 0, 0, 1, 2, 0x0f, 0xff, 0xff, 0, 1, 0, 4, 0, 0})
	f.Add([]byte{3, 0, 0, 0, 7, 0, 0, 9, 0, 0, 4, 0, 0, 1})
	f.Add([]byte{0x21, 0, 0, 0, 9, 0, 0, 9, 0, 0, 0, 0, 9, 0})
	f.Add([]byte{0xa1, 0, 0, 0, 9, 0, 0, 9, 0, 0, 0, 0, 3, 0, 0xa1, 0, 0, 0, 9, 0, 0, 9, 0, 0, 3, 0, 6, 0})
	f.Add([]byte{4, 0, 0, 0, 9, 0, 8, 0, 0, 0, 0, 0, 0, 2})
	f.Add([]byte{0xc1, 0, 0, 0, 7, 0, 0, 4, 0, 0, 0, 0, 4, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		in, d := victim(8, 4096)
		d.got = func(p *part) {
			if p.reserved {
				d.posted = append(d.posted, p.r)
			}
		}
		room := make([]byte, pieceMost+remoteLen)
		region := d.region(8192, AccessRead|AccessWrite)
		now := mono.Time(1)
		for frame := len(srd.Imm{}) + 1; len(b) >= frame; b = b[frame:] {
			imm := srd.Imm(b)
			expired := b[len(imm)]&1 != 0
			n := 0
			switch kind := imm[0] & kindMask; {
			case kind == kindPiece && !expired:
				n = int(imm[11])<<8 | int(imm[12])
				if imm[0]&flagWrite != 0 && get24(imm[8:]) < EagerMost {
					n += remoteLen
				}
			case kind == kindRead:
				n = remoteLen
			}
			h, ok := parse(&imm, n, expired)
			if !ok || h.kind == kindAnswer || h.kind == kindReply {
				continue
			}
			Remote{Key: region.key, Offset: uint64(b[len(imm)]) << 5}.append(room[:0])
			if h.kind == kindRead {
				if !in.read(&h, room[:n]) {
					in.reset()
					break
				}
				for m, ok := in.reads.pull(1000); ok; m, ok = in.reads.pull(1000) {
					m.Owner.Done(srd.Acknowledged)
				}
				continue
			}
			now = now.Add(assemblyMost / 4)
			if !in.add(now, &h, room[:n], expired) {
				in.reset()
				break // the session ends
			}
			in.expire(now)
			if d.out > in.holdMost+1 || len(in.parts) > requestsMost || in.answers.unheard() > answersMost {
				t.Fatalf("%d reserved, %d parts, %d answers", d.out, len(in.parts), in.answers.unheard())
			}
		}
		if in.reset(); d.out != 0 || len(d.posted) != 8 {
			t.Fatalf("%d reserved, %d free", d.out, len(d.posted))
		}
	})
}

// No answer of a peer causes a panic.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte{0, 0, 0, 0, 1, 0, 0, 0, 1, 2}, uint16(1))
	f.Fuzz(func(t *testing.T, b []byte, ready uint16) {
		done := 0
		out := outgoing{refuse: func() {}, finish: func(*request, Status) { done++ }}
		for range 4 {
			out.push(newRequest(nil, make([]byte, 20_000), &SendOptions{NotReady: 2}))
		}
		now := mono.Time(1)
		for ; len(b) >= answerLen; b = b[answerLen:] {
			for range 3 {
				if m, ok := out.pull(now, 4096); ok {
					m.Owner.Done(srd.Acknowledged)
				}
			}
			if !out.answer(now, b[:answerLen], int(ready)) {
				break
			}
			now = now.Add(notReadyFirst)
		}
		if out.end(StatusReset); done != 4 || !out.idle() {
			t.Fatalf("%d of 4 completions", done)
		}
	})
}
