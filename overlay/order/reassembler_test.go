package order

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// script runs a sequence of steps with one Reassembler.
type script struct {
	*testing.T
	g    *Reassembler
	pool *pool
	now  mono.Time
}

func newScript(t *testing.T, cfg Config) *script {
	s := &script{T: t, pool: newPool(), now: 1}
	cfg.Alloc = s.pool.get
	s.g = NewReassembler(cfg)
	t.Cleanup(func() {
		s.g.Reset(s.now)
		s.take()
		s.pool.wantAllBack(t)
		if n := s.g.Stats().HeldBytes; n != 0 || s.g.memory != 0 {
			t.Errorf("%d bytes in %d of memory are held after Reset", n, s.g.memory)
		}
	})
	return s
}

// piece returns a message of frame seq of a slot. It has n of the frame's `length` bytes, from
// `offset` on, each with the value seq|1.
func piece(slot uint16, seq uint32, offset, n, length int) *srd.Message {
	m := &srd.Message{Data: bytes.Repeat([]byte{byte(seq) | 1}, n)}
	h := header{slot: slot, seq: seq, offset: uint16(offset), length: uint16(length), facts: frame.Facts{Ordered: true}}
	h.put(&m.Imm)
	return m
}

func (s *script) add(m *srd.Message) {
	s.Helper()
	s.now++
	s.g.Add(s.now, m)
}

// whole adds frame seq of slot 0 as one message. Its length in bytes identifies it.
func (s *script) whole(seqs ...uint32) {
	s.Helper()
	for _, q := range seqs {
		s.add(piece(0, q, 0, int(q%1000)+1, int(q%1000)+1))
	}
}

func (s *script) take() (lengths []uint32) {
	for f := s.g.Pop(); f != nil; f = s.g.Pop() {
		if !clean(f) {
			s.Errorf("a byte that nobody sent was delivered")
		}
		lengths = append(lengths, uint32(len(f.Data))-1)
		f.Release()
	}
	return lengths
}

func (s *script) want(seqs ...uint32) {
	s.Helper()
	if got := s.take(); !slices.Equal(got, seqs) {
		s.Fatalf("delivered %v, want %v", got, seqs)
	}
}

func (s *script) pass(d time.Duration) {
	s.now = s.now.Add(d)
	s.g.Advance(s.now)
}

func TestGapIsWaitedForThenGivenUp(t *testing.T) {
	s := newScript(t, Config{Hold: 10 * time.Millisecond})
	s.whole(0, 2, 3, 5)
	s.want(0)
	since := s.now - 2
	if at := s.g.Deadline(); at != since.Add(10*time.Millisecond) {
		t.Fatalf("deadline %v, want 10 ms after %v", at, since)
	}
	s.now = since.Add(10*time.Millisecond) - 1
	s.g.Advance(s.now)
	s.want()
	s.pass(1)
	s.want(2, 3) // 5 arrived later and may wait longer
	s.whole(4)
	s.want(4, 5)
	s.whole(1)
	s.want(1) // a late frame is still delivered
	if st := s.g.Stats(); st.TimedOut != 1 || st.Late != 1 || st.Reordered != 3 || st.HeldNow != 0 || st.HeldBytes != 0 {
		t.Fatalf("%+v", st)
	}
	// 2 and 3 waited for the whole hold. The wait of 5 began a moment later, and ended when 4
	// arrived.
	if st := s.g.Stats(); st.Longest != 10*time.Millisecond || st.Held != 30*time.Millisecond-2 {
		t.Fatalf("%+v", st)
	}
	if at := s.g.Deadline(); at != mono.Never {
		t.Fatalf("deadline %v with nothing held", at)
	}
}

// On paths with long round trips, a hold is longer than the sender's retransmissions, but shorter
// than TCP's timeout.
func TestHoldForLongPaths(t *testing.T) {
	for rtt, want := range map[time.Duration]time.Duration{
		0: DefaultHold, 30 * time.Millisecond: DefaultHold, 40 * time.Millisecond: 200 * time.Millisecond, time.Second: MostHold,
	} {
		if d := HoldFor(DefaultHold, rtt); d != want {
			t.Errorf("%v for round trips of %v, want %v", d, rtt, want)
		}
	}
	if d := HoldFor(2*MostHold, time.Second); d != 2*MostHold {
		t.Errorf("%v where more was asked for", d)
	}
}

func TestHoldCanChange(t *testing.T) {
	s := newScript(t, Config{Hold: 10 * time.Millisecond})
	s.whole(1)
	s.g.SetHold(20 * time.Millisecond)
	s.pass(20*time.Millisecond - 1)
	s.want()
	if at := s.g.Deadline(); at != s.now+1 {
		t.Fatalf("deadline %v at %v", at, s.now)
	}
	s.g.SetHold(5 * time.Millisecond)
	s.pass(0)
	s.want(1)
}

func TestTombstoneFillsItsPlace(t *testing.T) {
	s := newScript(t, Config{})
	s.whole(1, 2)
	m := piece(0, 0, 0, 0, 9)
	m.Expired = true
	s.add(m)
	s.want(1, 2)
}

func TestTombstoneOfOnePieceVoidsTheFrame(t *testing.T) {
	s := newScript(t, Config{})
	s.add(piece(0, 0, 0, 5, 10))
	m := piece(0, 0, 5, 0, 10)
	m.Expired = true
	s.add(m)
	s.whole(1)
	s.want(1)
	if st := s.g.Stats(); st.Voided != 1 || st.HeldBytes != 0 {
		t.Fatalf("%+v", st)
	}
}

func TestUnorderedFrameDoesNotWait(t *testing.T) {
	s := newScript(t, Config{})
	m := piece(0, 3, 0, 4, 4)
	m.Imm[12] = 0
	s.add(m)
	s.want(3)
	s.whole(0, 1, 2, 4)
	s.want(0, 1, 2, 4)
}

func TestFlowsDoNotWaitForEachOther(t *testing.T) {
	s := newScript(t, Config{})
	s.whole(1)
	s.add(piece(7, 0, 0, 9, 9))
	s.want(8)
}

func TestResetHandsOnWhatIsComplete(t *testing.T) {
	s := newScript(t, Config{})
	s.whole(2, 4)
	s.add(piece(0, 5, 0, 5, 10))
	s.g.Reset(s.now)
	s.want(2, 4)
	s.pool.wantAllBack(t)
	s.whole(0)
	s.want(0)
}

// A peer that sends false numbers causes no more work than an honest one.
func TestNumberFarAhead(t *testing.T) {
	s := newScript(t, Config{})
	s.whole(3)
	s.add(piece(0, 1<<31-1, 0, 10, 10))
	s.want(3)
	s.pass(DefaultHold)
	s.want(9)
	s.add(piece(0, 1<<31-1, 0, 10, 10))
	s.want(9) // a duplicate counts as a late frame: it can only harm the peer that sent it
	s.add(piece(0, 1<<31, 0, 11, 11))
	s.want(10)
}

// The memory of incomplete frames is bounded like that of complete ones.
func TestPiecesWithoutEndAreBounded(t *testing.T) {
	const limit = 1 << 20
	s := newScript(t, Config{HeldBytes: limit})
	for i := range uint32(4096) {
		s.add(piece(uint16(i%Slots), i%7+1, 0, 1, 60000))
		if s.pool.bytes > limit+60000 {
			t.Fatalf("%d bytes are in use, %d allowed", s.pool.bytes, limit)
		}
	}
	if st := s.g.Stats(); st.Overflow == 0 || st.Voided == 0 {
		t.Fatalf("nothing was counted: %+v", st)
	}
	s.want()
}

// The memory of late frames is bounded, too.
func TestLatePiecesAreBounded(t *testing.T) {
	const limit = 1 << 20
	s := newScript(t, Config{HeldBytes: limit})
	for slot := range uint16(512) {
		for seq := range uint32(4) {
			s.add(piece(slot, seq-8, 0, 1, 60000))
		}
		if s.pool.bytes > limit+60000 {
			t.Fatalf("%d bytes are in use, %d allowed", s.pool.bytes, limit)
		}
	}
	s.pass(lateLife)
	s.pool.wantAllBack(t)
}

// If the rest of a frame never arrives, because the sending process has ended, the frame is dropped
// even if no other frame of its flow follows.
func TestBegunAndAbandoned(t *testing.T) {
	s := newScript(t, Config{})
	s.add(piece(0, 0, 0, 5, 10))
	s.pass(partLife)
	s.pass(lateLife)
	s.pool.wantAllBack(t)
	if at := s.g.Deadline(); at != mono.Never {
		t.Errorf("something is due at %v", at)
	}
	s.whole(1)
	s.want(1)
}

// A flow keeps only the newest of its late frames.
func TestLateFramesOfAFlowAreBounded(t *testing.T) {
	s := newScript(t, Config{})
	for i := range uint32(maxLate + 4) {
		s.add(piece(0, i-100, 0, 5, 10))
	}
	if st := s.g.Stats(); s.pool.out != maxLate || st.Voided != 4 {
		t.Fatalf("%d late frames, %d given up", s.pool.out, st.Voided)
	}
	s.add(piece(0, 1<<32-96, 5, 5, 10))
	s.want(9)
}

// A flow that once held frames far ahead of the next one does not keep the memory for them.
func TestWindowsAreGivenBack(t *testing.T) {
	const frames = 2 * sparePartials
	s := newScript(t, Config{})
	for q := range uint32(frames) {
		s.whole(frames - q)
	}
	if m := s.g.Stats().Memory; m < frames*(partialBytes+smallest)+frames/pagePlaces*pageBytes {
		t.Fatalf("%d frames count for %d bytes", frames, m)
	}
	s.whole(0)
	if n := len(s.take()); n != frames+1 || s.g.memory != 0 || s.g.flows.at(0).win != nil {
		t.Fatalf("%d frames, and %d bytes are kept", n, s.g.memory)
	}
	if v := &s.g.spare; len(v.partials) > idlePartials || len(v.pages) > sparePages || len(v.windows) > spareWindows {
		t.Errorf("%d partials, %d pages, %d windows are kept", len(v.partials), len(v.pages), len(v.windows))
	}
}

// The constants equal the allocator's sizes.
func TestSizesAreThoseOfTheAllocator(t *testing.T) {
	for _, c := range []struct {
		what  any
		count int
	}{
		{partial{}, partialBytes}, {[maxSpans]span{}, spansBytes}, {page{}, pageBytes}, {window{}, windowBytes}, {lates{}, latesBytes}, {frame.Frame{}, frameBytes},
	} {
		// The distance between two size classes is at most an eighth of their size, or 16 bytes.
		size := int(reflect.TypeOf(c.what).Size())
		if over := c.count - size; over < 0 || over > max(16, size/8) {
			t.Errorf("%T has %d bytes, counted as %d", c.what, size, c.count)
		}
	}
}

// The limit includes the tables. Even if a peer sends the farthest number of each flow, the tables
// take at most a few tens of megabytes.
func TestTablesAreBounded(t *testing.T) {
	s := newScript(t, Config{})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for slot := range uint16(Slots) {
		s.add(piece(slot, maxAhead-1, 0, 1, 2))
		s.add(piece(slot, maxAhead-2, 0, 1, 2))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapAlloc) - int64(before.HeapAlloc); n > 64<<20 {
		t.Fatalf("%d bytes for two messages in each flow", n)
	}
}

// Even the smallest frames count with the memory that they take.
func TestNumberOfFramesIsBounded(t *testing.T) {
	s := newScript(t, Config{})
	for i := range uint32(1 << 16) {
		s.add(piece(uint16(i%16), 2+i/16, 0, 1, 2))
		if n := s.g.Stats().Memory; n > DefaultHeldBytes || n < s.pool.out*(partialBytes+smallest) {
			t.Fatalf("%d frames are held, counted as %d bytes", s.pool.out, n)
		}
	}
	if s.g.Stats().OverShare == 0 {
		t.Fatal("nothing was counted")
	}
}

// A frame that is shorter than any valid packet is dropped.
func TestShortFramesAreRefused(t *testing.T) {
	s := newScript(t, Config{Least: 20})
	s.add(piece(0, 0, 0, 19, 19))
	s.add(piece(0, 0, 0, 20, 20))
	s.want(19)
	if n := s.g.Stats().Bad; n != 1 {
		t.Fatalf("%d were refused", n)
	}
}

// If too many complete frames wait, the gap with the longest wait is given up, and no frame is
// dropped.
func TestOverflowDelivers(t *testing.T) {
	s := newScript(t, Config{HeldBytes: 25000})
	var want []uint32
	for q := uint32(1); q <= 20; q++ {
		s.add(piece(0, q, 0, 2000+int(q), 2000+int(q)))
		want = append(want, 2000+q-1)
	}
	s.want(want...)
	if s.g.Stats().Overflow != 1 {
		t.Fatalf("%+v", s.g.Stats())
	}
}

// A small frame counts with the size of its buffer, which is larger.
func TestBuffersAreBounded(t *testing.T) {
	const limit = 100_000
	s := newScript(t, Config{HeldBytes: limit})
	for q := range uint32(1000) {
		s.whole(q + 1)
		s.take()
		if n := s.pool.buffers(); n > limit {
			t.Fatalf("buffers of %d bytes are in use", n)
		}
	}
}

func TestNonsenseIsCounted(t *testing.T) {
	for name, m := range map[string]*srd.Message{
		"slot":         piece(Slots, 0, 0, 1, 1),
		"no length":    piece(0, 0, 0, 1, 0),
		"offset":       piece(0, 0, 5, 1, 5),
		"past its end": piece(0, 0, 3, 3, 5),
		"empty":        piece(0, 0, 0, 0, 5),
	} {
		t.Run(name, func(t *testing.T) {
			s := newScript(t, Config{})
			s.add(m)
			s.want()
			if s.g.Stats().Bad != 1 {
				t.Fatalf("%+v", s.g.Stats())
			}
		})
	}
}

func TestOverlapNeverCompletes(t *testing.T) {
	s := newScript(t, Config{})
	s.add(piece(0, 0, 0, 6, 10))
	s.add(piece(0, 0, 5, 5, 10)) // overlaps the earlier message
	s.add(piece(0, 0, 6, 2, 8))  // has another frame length
	s.want()
	if s.g.Stats().Bad != 2 {
		t.Fatalf("%+v", s.g.Stats())
	}
	s.add(piece(0, 0, 6, 4, 10))
	s.want(9)
}

// If holds never end, the frames of each flow are delivered once and in order, however their
// messages are reordered.
func TestOrderIsRestored(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := newScript(t, Config{})
		var c Segmenter
		var sent []srd.Message
		var want []uint32
		start := uint32(1<<32 - 50)
		*c.next.at(0), s.g.flows.at(0).next = start, start
		for i := range 100 {
			n := 1 + r.IntN(3000)
			if i%10 == 0 {
				n = 30000 + r.IntN(35536)
			}
			want = append(want, uint32(n)-1)
			f := frame.New(bytes.Repeat([]byte{1}, n), nil)
			f.Facts.Ordered = true
			for c.Load(f); !c.Empty(); {
				sent = append(sent, c.Cut(64+r.IntN(1400)))
				if l := len(sent[len(sent)-1].Data); l > 1464 {
					t.Fatalf("message of %d bytes", l)
				}
			}
		}
		shuffleNear(r, sent, 30)
		var got []uint32
		for i := range sent {
			s.add(&sent[i])
			sent[i].Owner.Done(srd.Acknowledged)
			got = append(got, s.take()...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: delivered %v, want %v", seed, got, want)
		}
	}
}

// shuffleNear moves each message by up to about n positions.
func shuffleNear(r *rand.Rand, v []srd.Message, n int) {
	for i := range v {
		j := min(len(v)-1, i+r.IntN(n))
		v[i], v[j] = v[j], v[i]
	}
}

func TestCutterKeepsBytesAndFacts(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	s := newScript(t, Config{})
	var c Segmenter
	for range 200 {
		data := make([]byte, 1+r.IntN(65535))
		for i := range data {
			data[i] = byte(1 + r.IntN(255))
		}
		released := 0
		f := frame.New(data, func(*frame.Frame) { released++ })
		f.Flow, f.TCP = r.Uint32(), r.IntN(2) == 0
		f.Facts = frame.Facts{GSO: frame.GSO(r.IntN(4)), GSOSize: uint16(r.Uint32()), CSum: r.IntN(2) == 0, Ordered: r.IntN(2) == 0}
		for c.Load(f); !c.Empty(); {
			m := c.Cut(1200 + r.IntN(60000))
			if (m.Class == srd.Stream) != f.TCP || m.Flow != f.Flow {
				t.Fatalf("%+v of %+v", m, f)
			}
			s.add(&m)
			m.Owner.Done(srd.Acknowledged)
		}
		if released != 1 {
			t.Fatalf("the frame was released %d times", released)
		}
		got := s.g.Pop()
		if got == nil || got.Facts != f.Facts || !bytes.Equal(got.Data, data) {
			t.Fatal("another frame came out")
		}
		got.Release()
	}
}

func TestCutterReset(t *testing.T) {
	released := 0
	f := frame.New(make([]byte, 100), func(*frame.Frame) { released++ })
	var c Segmenter
	c.Load(f)
	m := c.Cut(40)
	c.Reset()
	m.Owner.Done(srd.Acknowledged)
	if released != 1 || !c.Empty() {
		t.Fatalf("released %d times, empty %v", released, c.Empty())
	}
	c.Load(frame.New([]byte{1}, nil))
	if m = c.Cut(40); m.Imm != (srd.Imm{9: 1}) {
		t.Fatalf("the first frame to another incarnation has the immediate %x", m.Imm)
	}
}
