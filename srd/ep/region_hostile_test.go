package ep

import (
	"bytes"
	"testing"

	"github.com/srdtun/srdtun/srd"
)

// A piece may end within the immediate data.
func TestImmediateDataInPieces(t *testing.T) {
	in, d := victim(1, 100)
	var got uint32
	d.got = func(p *part) { got = p.immediate() }
	for at := range 6 {
		h := header{kind: kindPiece, flags: flagImmediate, total: 6, at: at, size: 1}
		if !in.add(1, &h, []byte{byte(at)}, false) {
			t.Fatal("an honest piece is refused")
		}
	}
	if got != 0x00010203 {
		t.Errorf("immediate %x", got)
	}
}

// piece returns a piece of a write, with its payload.
func piece(at Remote, total, from, size int) (*header, []byte) {
	h := header{kind: kindPiece, flags: flagWrite, total: total, at: from, size: size}
	var b []byte
	if h.prefix() > 0 {
		b = at.append(nil)
	}
	return &h, append(b, bytes.Repeat([]byte{0xff}, size)...)
}

// verdictOf returns the last verdict that `in` has sent.
func verdictOf(in *incoming) verdict {
	if b := in.answers.queue; len(b) > 0 {
		return verdict(b[len(b)-1])
	}
	return 0
}

// A write that exceeds its region by one byte, or has no region, writes nothing.
func TestWriteOutsideTheRegion(t *testing.T) {
	const size = 100
	for name, x := range map[string]struct {
		access Access
		peer   PublicKey
		closed bool
		key    uint64 // number to add to the region's key
		offset uint64
		total  int
	}{
		"another key":         {access: AccessWrite, peer: owner, key: 1, total: 1},
		"another peer's":      {access: AccessWrite, peer: PublicKey{2}, total: 1},
		"only to read":        {access: AccessRead, peer: owner, total: 1},
		"closed":              {access: AccessWrite, peer: owner, closed: true, total: 1},
		"too long":            {access: AccessWrite, peer: owner, total: size + 1},
		"one byte behind":     {access: AccessWrite, peer: owner, offset: size, total: 1},
		"leaves it":           {access: AccessWrite, peer: owner, offset: size - 9, total: 10},
		"far away":            {access: AccessWrite, peer: owner, offset: 1 << 40, total: 1},
		"offset that wraps":   {access: AccessWrite, peer: owner, offset: 1<<64 - 5, total: 10},
		"only its end is out": {access: AccessWrite, peer: owner, total: EagerMost + 1},
	} {
		in, d := victim(1, size)
		memory := make([]byte, 3*size)
		r := &Region{of: &d.regions, peer: x.peer, access: x.access, size: size, buf: memory[size : 2*size : 2*size]}
		d.regions.add(r)
		if x.closed {
			r.Close()
		}
		at := Remote{Key: r.key + x.key, Offset: x.offset}
		h, b := piece(at, x.total, 0, min(x.total, EagerMost))
		if !in.add(1, h, b, false) || verdictOf(in) != denied {
			t.Errorf("%s: verdict %d", name, verdictOf(in))
		}
		if !bytes.Equal(memory, make([]byte, 3*size)) {
			t.Errorf("%s: bytes were written", name)
		}
		if d.out != 0 || in.holding != 0 {
			t.Errorf("%s: it holds a receive", name)
		}
		if !in.read(&header{kind: kindRead, number: 9, total: x.total}, at.append(nil)) {
			t.Errorf("%s: the session ended", name)
		} else if x.access == AccessWrite && verdictOf(in) != denied {
			t.Errorf("%s: it may read", name)
		}
	}
}

// If a region is closed during a write, no further byte is written, and the writer gets a
// verdict.
func TestRegionClosesUnderAWrite(t *testing.T) {
	in, d := victim(0, 0)
	r := d.region(20_000, AccessWrite)
	memory := r.buf
	at := r.Remote(0)
	for from := 0; from < EagerMost; from += 1024 {
		h, b := piece(at, 20_000, from, 1024)
		if !in.add(1, h, b, false) {
			t.Fatal("the session ended")
		}
	}
	if verdictOf(in) != granted {
		t.Fatalf("verdict %d", verdictOf(in))
	}
	r.Close()
	h, b := piece(at, 20_000, EagerMost, 20_000-EagerMost)
	if !in.add(1, h, b, false) || verdictOf(in) != denied {
		t.Errorf("verdict %d", verdictOf(in))
	}
	if r.buf != nil {
		t.Error("a write keeps the memory alive")
	}
	if memory[EagerMost-1] != 0xff || !bytes.Equal(memory[EagerMost:], make([]byte, 20_000-EagerMost)) {
		t.Error("bytes were written after Close")
	}
}

// All pieces of a write must have the same destination.
func TestWriteThatMoves(t *testing.T) {
	in, d := victim(0, 0)
	r := d.region(100, AccessWrite)
	h, b := piece(r.Remote(0), 20, 0, 10)
	in.add(1, h, b, false)
	h, b = piece(r.Remote(50), 20, 10, 10)
	if in.add(1, h, b, false) || r.buf[60] != 0 {
		t.Error("believed")
	}
}

// The first frame of a write that arrives may be a piece of kind 3 or a tombstone.
func TestWriteGivenUpBeforeItCame(t *testing.T) {
	in, d := victim(1, 100)
	r := d.region(20_000, AccessWrite)
	rest := header{kind: kindRest, flags: flagWrite, total: 20, at: 10, size: 10}
	if !in.add(1, &rest, nil, false) {
		t.Fatal("the session ended")
	}
	h, b := piece(r.Remote(0), 20, 0, 10)
	if !in.add(1, h, b, false) || verdictOf(in) != gone || r.buf[0] != 0 {
		t.Errorf("verdict %d", verdictOf(in))
	}
}

// A write with immediate data needs a receive, like a message.
func TestWriteWithImmediateTakesAReceive(t *testing.T) {
	in, d := victim(0, 0)
	r := d.region(100, AccessWrite)
	h := header{kind: kindPiece, flags: flagWrite | flagImmediate, total: 5, size: 5}
	if !in.add(1, &h, append(r.Remote(0).append(nil), 0, 0, 0, 1, 0xff), false) || verdictOf(in) != notReady || r.buf[0] != 0 {
		t.Errorf("verdict %d, byte %x", verdictOf(in), r.buf[0])
	}
}

// Any number of reads occupies memory for replies only up to their bound, and for the bytes
// in flight.
func TestReadFlood(t *testing.T) {
	in, d := victim(0, 0)
	r := d.region(MaxMessage, AccessRead)
	h := header{kind: kindRead, total: MaxMessage}
	ended := false
	for !ended {
		ended = !in.read(&h, r.Remote(0).append(nil))
		h.number++
		if len(in.reads.open) > requestsMost || in.reads.active.len() > requestsMost || h.number > 2*answersMost {
			t.Fatalf("%d replies after %d reads", len(in.reads.open), h.number)
		}
	}
	if in.reset(); !in.reads.idle() {
		t.Error("replies outlive their session")
	}
}

// A region is closed while a peer reads it. The peer gets no further bytes, and gets the
// verdict when no piece is in flight.
func TestRegionClosesUnderARead(t *testing.T) {
	in, d := victim(0, 0)
	r := d.region(100_000, AccessRead)
	in.read(&header{kind: kindRead, total: 100_000}, r.Remote(0).append(nil))
	m, ok := in.reads.pull(1000)
	if !ok {
		t.Fatal("no reply")
	}
	r.Close()
	if _, more := in.reads.pull(1000); more || verdictOf(in) != 0 {
		t.Errorf("more %v, verdict %d while a piece is under way", more, verdictOf(in))
	}
	m.Owner.Done(srd.Acknowledged)
	if verdictOf(in) != denied || !in.reads.idle() {
		t.Errorf("verdict %d", verdictOf(in))
	}
}

// A peer sends false replies to a read. They complete no read, and the session ends.
func TestLiesInReplies(t *testing.T) {
	const size = 100
	reply := func(at, n int) header { return header{kind: kindReply, total: size, at: at, size: n} }
	for name, lie := range map[string][]header{
		"never asked":      {{kind: kindReply, number: 7, total: size, size: size}},
		"a message's":      {{kind: kindReply, number: 1, total: size, size: size}},
		"another length":   {{kind: kindReply, total: 50, size: 50}},
		"an overlap":       {reply(0, 60), reply(20, 40)},
		"twice":            {reply(0, size), reply(0, size)},
		"the middle twice": {reply(25, 50), reply(25, 50)},
	} {
		done := 0
		out := outgoing{refuse: func() {}, finish: func(*request, Status) { done++ }}
		out.push(newRead(nil, Remote{}, make([]byte, size), &SendOptions{}))
		out.push(newRequest(nil, make([]byte, size), &SendOptions{}))
		for range 2 {
			out.pull(1, 1000)
		}
		ok := true
		for i := range lie {
			ok = ok && out.reply(&lie[i], make([]byte, lie[i].size))
		}
		if ok || done > 1 || done == 1 && name != "twice" {
			t.Errorf("%s: believed %v, %d completions", name, ok, done)
		}
	}
	for name, v := range map[string]verdict{"accepted": accepted, "granted": granted, "too long": tooLong, "gone": gone} {
		out := outgoing{refuse: func() {}, finish: func(*request, Status) { t.Errorf("%s completes a read", name) }}
		out.push(newRead(nil, Remote{}, make([]byte, size), &SendOptions{}))
		out.pull(1, 1000)
		if out.answer(1, appendAnswer(nil, 0, v), 0) {
			t.Errorf("%s: believed", name)
		}
	}
}

// After the completion of a read, no byte is written to its buffer, which belongs to the
// program again.
func TestLateReply(t *testing.T) {
	out := outgoing{refuse: func() {}, finish: func(*request, Status) {}}
	buf := make([]byte, 100)
	r := newRead(nil, Remote{}, buf, &SendOptions{})
	out.push(r)
	out.pull(1, 1000)
	out.giveUp(r, StatusTimedOut)
	h := header{kind: kindReply, total: 100, size: 100}
	if !out.reply(&h, bytes.Repeat([]byte{1}, 100)) || buf[0] != 0 || len(out.open) != 0 {
		t.Errorf("byte %d, %d open", buf[0], len(out.open))
	}
}

// No reply of a peer causes a panic, completes a read twice, or changes a buffer that
// belongs to the program again.
func FuzzReplies(f *testing.F) {
	f.Add([]byte{0, 0, 0, 10, 0, 0, 5, 0, 0, 0, 5, 5})
	f.Fuzz(func(t *testing.T, b []byte) {
		sizes := []int{0, 10, 100, 5000}
		done, bufs := map[uint64]int{}, make([][]byte, len(sizes))
		out := outgoing{refuse: func() {}, finish: func(r *request, _ Status) {
			if done[r.context]++; done[r.context] > 1 {
				t.Fatal("a read is complete twice")
			}
			clear(bufs[r.context]) // the buffer belongs to the program
		}}
		for i, n := range sizes {
			bufs[i] = make([]byte, n)
			out.push(newRead(nil, Remote{}, bufs[i], &SendOptions{Context: uint64(i)}))
			out.pull(1, 1000)
		}
		ones := bytes.Repeat([]byte{1}, 255)
		for ; len(b) >= 4; b = b[4:] {
			k := int(b[0]) % len(sizes)
			h := header{kind: kindReply, number: uint32(k), total: sizes[k], at: int(b[1]) * int(b[2]), size: int(b[3])}
			var imm srd.Imm
			h.put(&imm)
			p, ok := parse(&imm, h.size, false)
			if ok && !out.reply(&p, ones[:h.size]) {
				break // the session ends
			}
		}
		out.end(StatusReset)
		for i, n := range sizes {
			if done[uint64(i)] != 1 || !bytes.Equal(bufs[i], make([]byte, n)) {
				t.Fatalf("read %d: %d completions", i, done[uint64(i)])
			}
		}
	})
}
