package linkemu

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"sort"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// udpFrame returns a valid UDP frame over IPv4 or IPv6 whose payload begins with id.
func udpFrame(v6 bool, port uint16, id uint32, payload int) []byte {
	f := make([]byte, etherLen, 2048)
	n := udpLen + payload
	if v6 {
		binary.BigEndian.PutUint16(f[12:], etherIPv6)
		ip := make([]byte, ipv6Len)
		ip[0], ip[6], ip[7], ip[23], ip[39] = 0x60, protoUDP, 64, 1, 2
		binary.BigEndian.PutUint16(ip[4:], uint16(n))
		f = append(f, ip...)
	} else {
		binary.BigEndian.PutUint16(f[12:], etherIPv4)
		ip := make([]byte, 20)
		ip[0], ip[8], ip[9], ip[12], ip[16] = 0x45, 64, protoUDP, 10, 10
		binary.BigEndian.PutUint16(ip[2:], uint16(20+n))
		f = append(f, ip...)
	}
	udp := make([]byte, n)
	binary.BigEndian.PutUint16(udp, port)
	binary.BigEndian.PutUint16(udp[4:], uint16(n))
	binary.BigEndian.PutUint32(udp[8:], id)
	f = append(f, udp...)
	t, _ := parse(f)
	t.setChecksum(f)
	return f
}

func idOf(t *testing.T, frame []byte) uint32 {
	t.Helper()
	tr, ok := parse(frame)
	if !ok {
		t.Fatalf("% x is no UDP frame", frame)
	}
	return binary.BigEndian.Uint32(frame[tr.body:])
}

// checksumRight verifies the checksum of a frame, one byte at a time.
func checksumRight(frame []byte) bool {
	t, ok := parse(frame)
	if !ok {
		return false
	}
	pseudo := append([]byte{}, frame[t.ip+12:t.ip+20]...)
	if t.v6 {
		pseudo = append([]byte{}, frame[t.ip+8:t.ip+40]...)
	}
	all := append(pseudo, 0, t.proto, byte((t.end-t.start)>>8), byte(t.end-t.start))
	all = append(all, frame[t.start:t.end]...)
	sum := 0
	for i, b := range all {
		if i%2 == 0 {
			sum += int(b) << 8
		} else {
			sum += int(b)
		}
		for sum > 0xffff {
			sum -= 0xffff
		}
	}
	return sum == 0xffff
}

func newLine(t *testing.T, seed uint64, im ...Impairment) *Line {
	t.Helper()
	l, err := NewLine(seed, im...)
	must(t, err)
	return l
}

// through pushes `count` frames at intervals of `gap`. It returns the IDs in the order of output,
// and the time of the last output.
func through(t *testing.T, l *Line, count int, gap time.Duration) (ids []uint32, last int64) {
	t.Helper()
	for i := range count {
		now := int64(gap) * int64(i)
		must(t, l.Push(now, udpFrame(i%2 == 0, 5000, uint32(i), 1000)))
	}
	for {
		at, ok := l.Deadline()
		if !ok {
			return ids, last
		}
		if l.Pop(at-1) != nil {
			t.Fatal("a frame came out before its time")
		}
		last = at
		f := l.Pop(at)
		ids = append(ids, idOf(t, f))
		l.Recycle(f)
	}
}

func TestZeroImpairmentChangesNothing(t *testing.T) {
	ids, last := through(t, newLine(t, 1), 1000, time.Microsecond)
	if len(ids) != 1000 || !sort.SliceIsSorted(ids, func(i, j int) bool { return ids[i] < ids[j] }) {
		t.Errorf("%d frames, or not in order", len(ids))
	}
	if last != int64(999*time.Microsecond) {
		t.Errorf("the last left at %d", last)
	}
}

func TestShares(t *testing.T) {
	const n = 20_000
	l := newLine(t, 3, Impairment{Loss: 0.05, Duplicate: 0.02, Reorder: 0.1, Corrupt: 0.03})
	through(t, l, n, time.Microsecond)
	for _, c := range []struct {
		name string
		got  uint64
		want float64
	}{{"lost", l.Stats.Lost, 0.05}, {"duplicated", l.Stats.Duplicated, 0.02 * 0.95}, {"reordered", l.Stats.Reordered, 0.1 * 0.95}, {"corrupted", l.Stats.Corrupted, 0.03 * 0.95}} {
		if share := float64(c.got) / n; share < c.want*0.85 || share > c.want*1.15 {
			t.Errorf("%s: share %.4f, want about %.4f", c.name, share, c.want)
		}
	}
}

func TestDelayAndJitterKeepTheOrder(t *testing.T) {
	ids, last := through(t, newLine(t, 1, Impairment{Delay: 5 * time.Millisecond, Jitter: time.Millisecond}), 1000, time.Microsecond)
	if !sort.SliceIsSorted(ids, func(i, j int) bool { return ids[i] < ids[j] }) {
		t.Error("out of order")
	}
	if d := time.Duration(last); d < 5900*time.Microsecond || d > 7*time.Millisecond {
		t.Errorf("the last left at %v", d)
	}
}

func TestReorderedFramesAreOvertaken(t *testing.T) {
	l := newLine(t, 1, Impairment{Reorder: 0.1, ReorderBy: 100 * time.Microsecond})
	ids, _ := through(t, l, 1000, 10*time.Microsecond)
	late := 0
	for i := 1; i < len(ids); i++ {
		if ids[i] < ids[i-1] {
			late++
		}
	}
	if late == 0 || uint64(late) > l.Stats.Reordered {
		t.Errorf("%d frames are late, %d were chosen", late, l.Stats.Reordered)
	}
}

func TestRateAndQueue(t *testing.T) {
	size := len(udpFrame(false, 5000, 0, 1000))
	l := newLine(t, 1, Impairment{RateBytesPerSec: int64(size) * 1000, LimitBytes: 10 * size})
	for i := range 50 {
		_ = l.Push(0, udpFrame(false, 5000, uint32(i), 1000))
	}
	if l.Stats.Overflow != 40 {
		t.Errorf("%d of 50 did not fit into a queue for 10", l.Stats.Overflow)
	}
	for i := range 10 {
		if at, _ := l.Deadline(); at != int64(i+1)*int64(time.Millisecond) {
			t.Errorf("frame %d leaves at %v", i, time.Duration(at))
		}
		at, _ := l.Deadline()
		l.Recycle(l.Pop(at))
	}
}

func TestCorruptionFlipsOneBitOfTheBody(t *testing.T) {
	for _, fix := range []bool{false, true} {
		for _, v6 := range []bool{false, true} {
			l := newLine(t, 9, Impairment{Corrupt: 1, FixChecksum: fix})
			for i := range 300 {
				want := udpFrame(v6, 5000, uint32(i), 37)
				_ = l.Push(0, want)
				got := l.Pop(0)
				tr, _ := parse(want)
				flipped := 0
				for k := tr.body; k < len(want); k++ {
					flipped += bits.OnesCount8(want[k] ^ got[k])
				}
				if flipped != 1 || !bytes.Equal(want[:tr.sumAt], got[:tr.sumAt]) {
					t.Fatalf("%d bits of the body changed, or the headers did", flipped)
				}
				if checksumRight(got) != fix {
					t.Fatalf("checksum right: %v, want %v", !fix, fix)
				}
			}
		}
	}
}

func TestClassesSplitBySourcePort(t *testing.T) {
	l := newLine(t, 5, Impairment{Loss: 1}, Impairment{})
	out := map[uint16]int{}
	for port := range uint16(200) {
		for range 3 {
			_ = l.Push(0, udpFrame(false, 1000+port, 0, 10))
		}
		for f := l.Pop(0); f != nil; f = l.Pop(0) {
			out[port]++
		}
	}
	for port, n := range out {
		if n != 3 {
			t.Errorf("port %d: %d of 3: a flow is split between classes", port, n)
		}
	}
	if len(out) < 70 || len(out) > 130 {
		t.Errorf("%d of 200 ports are in the class without loss", len(out))
	}
}

func TestImpairmentBounds(t *testing.T) {
	for _, im := range []Impairment{{Loss: -0.1}, {Corrupt: 1.1}, {Delay: -1}, {LimitBytes: -1}} {
		if _, err := NewLine(1, im); err == nil {
			t.Errorf("%+v is accepted", im)
		}
	}
}

func TestNoGarbageForEachFrame(t *testing.T) {
	l := newLine(t, 1, Impairment{Delay: time.Millisecond, Reorder: 0.1})
	f := udpFrame(false, 5000, 1, 1000)
	now := int64(0)
	turn := func() {
		now += int64(10 * time.Microsecond)
		_ = l.Push(now, f)
		for out := l.Pop(now); out != nil; out = l.Pop(now) {
			l.Recycle(out)
		}
	}
	for range 1000 {
		turn()
	}
	if n := testing.AllocsPerRun(1000, turn); n != 0 {
		t.Errorf("%v allocations a frame", n)
	}
}

// TestEveryFrameIsAccountedFor tests lines with random profiles. The counters must account for each
// frame that is added or lost, and the same seed must give the same run.
func TestEveryFrameIsAccountedFor(t *testing.T) {
	share := rapid.Float64Range(0, 1)
	rapid.Check(t, func(rt *rapid.T) {
		im := Impairment{
			Delay: time.Duration(rapid.IntRange(0, 1e7).Draw(rt, "delay")), Jitter: time.Duration(rapid.IntRange(0, 1e6).Draw(rt, "jitter")),
			RateBytesPerSec: int64(rapid.IntRange(0, 1e7).Draw(rt, "rate")), LimitBytes: rapid.IntRange(0, 1e5).Draw(rt, "limit"),
			Loss: share.Draw(rt, "loss"), Duplicate: share.Draw(rt, "duplicate"), Reorder: share.Draw(rt, "reorder"), Corrupt: share.Draw(rt, "corrupt"),
		}
		seed := rapid.Uint64().Draw(rt, "seed")
		gaps := rapid.SliceOfN(rapid.IntRange(0, 1e6), 1, 100).Draw(rt, "gaps")
		var stories [2][]byte
		for i := range stories {
			l, err := NewLine(seed, im, Impairment{})
			if err != nil {
				rt.Fatal(err)
			}
			now := int64(0)
			for k, gap := range gaps {
				now += int64(gap)
				_ = l.Push(now, udpFrame(k%3 == 0, uint16(k%5), uint32(k), 20))
				for f := l.Pop(now); f != nil; f = l.Pop(now) {
					stories[i] = append(stories[i], f...)
				}
			}
			s := l.Stats
			if s.In+s.Duplicated != s.Out+s.Lost+s.Overflow+s.TooMany+s.Oversize+uint64(len(l.waiting)) {
				rt.Fatalf("%+v and %d waiting do not add up", s, len(l.waiting))
			}
		}
		if !bytes.Equal(stories[0], stories[1]) {
			rt.Fatal("the same seed told two stories")
		}
	})
}

// TestScheduleIsASortedList compares the heap with a list that is sorted again for every frame.
func TestScheduleIsASortedList(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var h schedule
		var twin []slot
		for i := range rapid.IntRange(1, 200).Draw(rt, "steps") {
			if len(twin) > 0 && rapid.Bool().Draw(rt, "pop") {
				sort.SliceStable(twin, func(a, b int) bool { return twin[a].at < twin[b].at })
				if got := h.pop(); got.order != twin[0].order {
					rt.Fatalf("frame %d came out, want %d", got.order, twin[0].order)
				}
				twin = twin[1:]
				continue
			}
			s := slot{at: int64(rapid.IntRange(0, 20).Draw(rt, "at")), order: uint64(i)}
			h.push(s)
			twin = append(twin, s)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(udpFrame(false, 1, 2, 30))
	f.Add(udpFrame(true, 1, 2, 30))
	f.Add(make([]byte, 13))
	f.Fuzz(func(t *testing.T, frame []byte) {
		l, err := NewLine(1, Impairment{Corrupt: 1, FixChecksum: true}, Impairment{Corrupt: 1})
		must(t, err)
		before := bytes.Clone(frame)
		if l.Push(0, frame) != nil {
			return
		}
		if !bytes.Equal(before, frame) {
			t.Fatal("the caller's frame was changed")
		}
		if out := l.Pop(0); len(out) != len(frame) {
			t.Fatalf("%d bytes came out of %d", len(out), len(frame))
		}
	})
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
