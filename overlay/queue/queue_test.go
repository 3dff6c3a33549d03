package queue

import (
	"bytes"
	"encoding/binary"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/budget"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd/mono"
	"pgregory.net/rapid"
)

const ms = mono.Time(time.Millisecond)

// tcp returns a frame with `payload` bytes in segments of 1448 bytes, and an id at the start of the
// payload. The hash of flow n selects bucket n of 1024.
func tcp(n, payload int, ecn byte, id uint32) *frame.Frame {
	payload = max(payload, 4)
	b := make([]byte, 40+payload)
	b[0], b[1], b[8], b[9] = 0x45, ecn, 64, packet.ProtoTCP
	binary.BigEndian.PutUint16(b[2:], uint16(len(b)))
	b[12], b[16] = 10, 10
	binary.BigEndian.PutUint16(b[20:], uint16(n))
	b[32] = 0x50
	binary.BigEndian.PutUint32(b[40:], id)
	f := frame.New(b, nil)
	f.Facts.CSum = true
	if payload > 1448 {
		f.Facts.GSO, f.Facts.GSOSize = frame.GSOTCP4, 1448
	}
	f.Flow = uint32(n) << 22
	return f
}

func id(f *frame.Frame) uint32 { return binary.BigEndian.Uint32(f.Data[40:]) }

func TestMatchesTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := Config{
			Flows:      1024,
			Target:     time.Duration(rapid.IntRange(1, 5).Draw(t, "target")) * time.Millisecond,
			Interval:   time.Duration(rapid.IntRange(1, 30).Draw(t, "interval")) * time.Millisecond,
			LimitBytes: rapid.IntRange(1000, 400_000).Draw(t, "limit"),
			Quantum:    rapid.IntRange(minQuantum, 70_000).Draw(t, "quantum"),
			Alone:      rapid.SampledFrom([]int{-1, 10_000, 200_000}).Draw(t, "alone"),
		}
		q := New(cfg)
		w := &twin{cfg: cfg, buckets: map[int]*twinFlow{}}
		now := ms
		last := map[uint32]uint32{}
		for i := range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += mono.Time(rapid.IntRange(0, 4000).Draw(t, "microseconds")) * 1000
			if rapid.IntRange(0, 2).Draw(t, "push") > 0 {
				n := rapid.IntRange(0, 5).Draw(t, "flow")
				size := rapid.SampledFrom([]int{10, 1448, 1449, 9000, 62_000}).Draw(t, "size")
				ecn := byte(0)
				if n == 5 {
					ecn = 2
				}
				q.Push(now, tcp(n, size, ecn, uint32(i)))
				w.push(now, tcp(n, size, ecn, uint32(i)))
			} else {
				got, want := q.Pop(now), w.pop(now)
				if (got == nil) != (want == nil) {
					t.Fatalf("step %d: got %v, want %v", i, got != nil, want != nil)
				}
				if got != nil {
					if !bytes.Equal(got.Data, want.Data) || got.Facts != want.Facts {
						t.Fatalf("step %d: frame %d of %d bytes, want %d of %d", i, id(got), len(got.Data), id(want), len(want.Data))
					}
					if prev, ok := last[got.Flow]; ok && id(got) <= prev {
						t.Fatalf("flow %d: frame %d after %d", got.Flow>>22, id(got), prev)
					}
					last[got.Flow] = id(got)
				}
			}
			checkBooks(t, q)
			if bytes, frames := w.total(); q.Bytes() != bytes || q.Len() != frames || q.stats.DroppedBytes != uint64(w.dropped) {
				t.Fatalf("step %d: %d bytes %d frames %d dropped, want %d %d %d", i, q.Bytes(), q.Len(), q.stats.DroppedBytes, bytes, frames, w.dropped)
			}
		}
	})
}

// checkBooks checks that the counters account for every byte and frame.
func checkBooks(t interface{ Fatalf(string, ...any) }, q *Queue) {
	s := q.Stats()
	if s.PushedBytes != s.PoppedBytes+s.DroppedBytes+uint64(q.Bytes()) {
		t.Fatalf("bytes: %+v and %d wait", s, q.Bytes())
	}
	if s.Pushed != s.Popped+s.Dropped+s.Overflow+s.Flushed+uint64(q.Len()) {
		t.Fatalf("frames: %+v and %d wait", s, q.Len())
	}
	if q.Bytes() > q.cfg.LimitBytes || q.Len() > framesOf(q.cfg.LimitBytes) {
		t.Fatalf("over the limit: %d bytes, %d frames", q.Bytes(), q.Len())
	}
}

// checkTable checks that buckets and slots refer to each other.
func checkTable(t *rapid.T, q *Queue) {
	used := 0
	for bucket, slot := range q.table.slots {
		if slot != 0 {
			used++
			fl := q.table.flows[slot]
			if fl.bucket != uint32(bucket) {
				t.Fatalf("bucket %d has slot %d, which is of bucket %d", bucket, slot, fl.bucket)
			}
			if first, set := q.table.set(fl.hash); fl.bucket < first || int(fl.bucket-first) >= len(set) {
				t.Fatalf("bucket %d has a flow whose set begins at %d", bucket, first)
			}
		}
	}
	if used != len(q.table.flows)-1 {
		t.Fatalf("%d buckets, %d slots", used, len(q.table.flows)-1)
	}
}

// With more flows than keepFlows, slots are reused. The order of each flow and the counters must
// remain correct. When no more frames are pushed, all frames leave the queue.
func TestManyFlows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := New(Config{Flows: rapid.SampledFrom([]int{1, 7, 1024}).Draw(t, "flows"), LimitBytes: rapid.SampledFrom([]int{5000, 1 << 20}).Draw(t, "limit")})
		released, popped := 0, 0
		last := map[uint32]uint32{}
		now := ms
		pop := func() bool {
			f := q.Pop(now)
			if f == nil {
				return false
			}
			if prev, ok := last[f.Flow]; ok && id(f) <= prev {
				t.Fatalf("flow %d: frame %d after %d", f.Flow>>22, id(f), prev)
			}
			last[f.Flow] = id(f)
			popped++
			return true
		}
		pushed := 0
		for range rapid.IntRange(1, 40).Draw(t, "bursts") {
			first := rapid.IntRange(0, 900).Draw(t, "first flow")
			for i := range rapid.IntRange(1, 100).Draw(t, "burst") {
				made := tcp(first+i, 100, 0, uint32(pushed))
				f := frame.New(made.Data, func(*frame.Frame) { released++ })
				f.Facts, f.Flow = made.Facts, made.Flow
				q.Push(now, f)
				pushed++
			}
			for range rapid.IntRange(0, 100).Draw(t, "pops") {
				pop()
			}
			now += 3 * ms
			checkBooks(t, q)
			checkTable(t, q)
		}
		for pop() {
		}
		checkBooks(t, q)
		if q.Len() != 0 || q.Bytes() != 0 || popped+released != pushed {
			t.Fatalf("%d wait; %d pushed, %d popped, %d released", q.Len(), pushed, popped, released)
		}
	})
}

// With frames of any size, the bytes sent by two backlogged flows never differ by more than a
// quantum plus the largest frame.
func TestFairness(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		quantum := rapid.IntRange(minQuantum, 70_000).Draw(t, "quantum")
		sizes := [2]int{}
		for i := range sizes {
			sizes[i] = rapid.SampledFrom([]int{64, 1448, 9000, 62_000}).Draw(t, "size")
		}
		q := New(Config{Quantum: quantum, LimitBytes: 1 << 26})
		var sent [2]int
		var waiting [2]int
		now := ms
		for step := range 400 {
			for n := range sizes {
				for waiting[n] < 2 {
					q.Push(now, tcp(n, sizes[n], 0, uint32(step)))
					waiting[n]++
				}
			}
			f := q.Pop(now)
			n := int(f.Flow >> 22)
			waiting[n]--
			sent[n] += len(f.Data)
			if d := sent[0] - sent[1]; max(d, -d) > quantum+max(sizes[0], sizes[1])+40 {
				t.Fatalf("step %d, sizes %v, quantum %d: sent %v", step, sizes, quantum, sent)
			}
		}
	})
}

// Flows with similar hashes share the link evenly, like any others. Neither the order of arrival
// nor the backlogs matter, because each flow has its own bucket.
func TestFlowsDoNotMeet(t *testing.T) {
	q := New(Config{LimitBytes: 1 << 26})
	const flows, share = 8, 40
	for hash := range uint32(flows) {
		for range 400 / (hash + 1) {
			f := tcp(0, 1448, 0, 0)
			f.Flow = hash
			q.Push(ms, f)
		}
	}
	var got [flows]int
	for range flows * share {
		got[q.Pop(ms).Flow]++
	}
	for hash, n := range got {
		// A flow sends one quantum in a round, which is some six packets.
		if n < share-6 || n > share+6 {
			t.Errorf("flow %d sent %d packets, an even share is %d", hash, n, share)
		}
	}
}

// A ninth busy flow of a set shares a bucket with one of the eight. When the ninth flow has ended,
// the other has the bucket for itself again. A new flow then has its own bucket, even while the
// eight flows last.
func TestSharingEnds(t *testing.T) {
	q := New(Config{LimitBytes: 1 << 26})
	push := func(hash uint32, n int) {
		for range n {
			f := tcp(0, 1448, 0, 0)
			f.Flow = hash
			q.Push(ms, f)
		}
	}
	slot := func(hash uint32) int32 { return q.flowOf(hash) }
	push(0, 400)
	for hash := uint32(1); hash < 8; hash++ {
		push(hash, 2)
	}
	push(8, 1)
	if slot(8) != slot(0) {
		t.Fatal("the ninth flow has a queue of its own")
	}
	for range 7 {
		if q.Pop(ms); slot(8) != slot(0) {
			t.Fatal("it left what it has there behind")
		}
	}
	for range 450 {
		q.Pop(ms)
		push(0, 1)
	}
	push(16, 1)
	if slot(16) == slot(0) {
		t.Error("a newcomer shares with one that shared once, though others are idle")
	}
}

// A request of 64 bytes overtakes 100 waiting super-frames. At most one of them leaves between two
// such requests.
func TestSparseFlowGoesFirst(t *testing.T) {
	q := New(Config{LimitBytes: 1 << 26})
	for i := range 100 {
		q.Push(ms, tcp(1, 62_000, 0, uint32(i)))
	}
	q.Push(ms, tcp(2, 64, 0, 1000))
	q.Pop(ms) // the bulk flow was also new, and was first
	if f := q.Pop(ms); id(f) != 1000 {
		t.Fatalf("frame %d before the request", id(f))
	}
	for i := range uint32(50) {
		q.Pop(ms)
		q.Push(ms, tcp(2, 64, 0, 2000+i))
		first, second := q.Pop(ms), q.Pop(ms)
		if id(first) != 2000+i && id(second) != 2000+i {
			t.Fatalf("request %d waits behind two super-frames", i)
		}
	}
}

// A flow that repeatedly becomes new must not starve a waiting flow (RFC 8290 section 4.2).
func TestFreshFlowsDoNotStarve(t *testing.T) {
	q := New(Config{Quantum: 2000})
	for i := range 20 {
		q.Push(ms, tcp(1, 1448, 0, uint32(i)))
	}
	bulk := 0
	for range 200 {
		for q.table.flows[q.flowOf(2<<22)].bytes < 3000 {
			q.Push(ms, tcp(2, 1000, 0, 5))
		}
		if f := q.Pop(ms); f.Flow == 1<<22 {
			bulk++
		}
	}
	if bulk < 20 {
		t.Errorf("%d of 20 waiting frames came out", bulk)
	}
}

func TestOverflowDropsTheFattest(t *testing.T) {
	q := New(Config{LimitBytes: 100_000})
	released := []uint32{}
	push := func(n, size int, id uint32) {
		f := tcp(n, size, 0, id)
		g := frame.New(f.Data, func(*frame.Frame) { released = append(released, id) })
		g.Facts, g.Flow = f.Facts, f.Flow
		q.Push(ms, g)
	}
	for i := range uint32(3) {
		push(1, 30_000, i)
	}
	push(2, 8_000, 10)
	push(2, 8_000, 11)
	if len(released) != 1 || released[0] != 0 {
		t.Errorf("released %v, want the head of the larger flow", released)
	}
	if s := q.Stats(); s.Overflow != 1 || s.DroppedBytes != 30_040 {
		t.Errorf("%+v", s)
	}
	for i := range uint32(1000) {
		push(3, 4, 100+i)
	}
	if q.Len() > 100_000/bytesPerFrame {
		t.Errorf("%d small frames wait", q.Len())
	}
	checkBooks(t, q)
}

func TestFlush(t *testing.T) {
	q := New(Config{})
	q.Flush(nil)
	for n := range 5 {
		q.Push(ms, tcp(n, 1000, 0, 1))
	}
	seen := 0
	q.Flush(func(f *frame.Frame) { seen += len(f.Data) })
	if seen != int(q.Stats().PushedBytes) {
		t.Errorf("%d bytes of %d were shown", seen, q.Stats().PushedBytes)
	}
	checkBooks(t, q)
	if q.Len() != 0 || q.Stats().Flushed != 5 || q.Pop(ms) != nil {
		t.Errorf("%d left, %+v", q.Len(), q.Stats())
	}
	q.Push(ms, tcp(3, 1000, 0, 9))
	if f := q.Pop(ms); f == nil || id(f) != 9 {
		t.Error("unusable after Flush")
	}
}

// Queues with large backlogs share one budget. Bytes above a queue's share are dropped from
// that queue, and counted.
func TestQueuesShareOneBudget(t *testing.T) {
	b := budget.New(8 << 20)
	all := make([]*Queue, 16)
	for i := range all {
		all[i] = New(Config{Budget: b})
	}
	small := New(Config{Budget: b})
	for range 100 {
		for _, q := range all {
			q.Push(ms, tcp(1, 60_000, 0, 0))
		}
	}
	for range 5 {
		small.Push(ms, tcp(1, 1000, 0, 0))
	}
	sum := 0
	for _, q := range all {
		if sum += costFactor * q.Bytes(); q.Stats().OverShare == 0 || q.Stats().Overflow != 0 {
			t.Errorf("%d over its share, %d overflows", q.Stats().OverShare, q.Stats().Overflow)
		}
	}
	// Each queue was reduced to its share, except for one frame that was pushed before the share
	// became smaller.
	if sum > 9<<20 {
		t.Errorf("%d bytes wait in all", sum)
	}
	if small.Len() != 5 {
		t.Errorf("a queue that holds little has %d frames left", small.Len())
	}
	for _, q := range all {
		for q.Pop(ms) != nil {
		}
	}
	if b.Users() != 0 {
		t.Errorf("%d users are left", b.Users())
	}
	alone := New(Config{Budget: b})
	for range 50 {
		alone.Push(ms, tcp(1, 60_000, 0, 0))
	}
	if alone.Len() != 50 {
		t.Errorf("one alone may have %d of 50 frames", alone.Len())
	}
}
