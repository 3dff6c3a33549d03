package cc

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

const (
	lineRate = 12.5e9 // bytes per second: 100 Gbit/s
	fineBase = 14 * time.Microsecond
)

// fine returns a controller of an interface, with its line known or not.
func fine(line float64) *SRD {
	c := New(time.Microsecond)
	c.SetLine(line)
	c.Base(fineBase)
	return c
}

// play lets a window be acknowledged in each of so many rounds, with a queue.
func (c *SRD) play(now *mono.Time, rounds int, queue time.Duration) {
	for range rounds {
		for n := max(1, c.Window()/MSS); n > 0; n-- {
			*now = now.Add((fineBase + queue) / time.Duration(max(1, c.Window()/MSS)))
			c.Ack(*now, Ack{Bytes: MSS, RTT: fineBase + queue, Base: fineBase, Empty: fineBase}, true)
		}
	}
}

func TestFirstWindowIsWhatTheLineCarries(t *testing.T) {
	if w := fine(0).Window(); w != InitialWindow {
		t.Errorf("window %d without a line, want %d", w, InitialWindow)
	}
	const want = 262_500 // 12.5e9 times 14e-6, and a half more
	if w := fine(lineRate).Window(); w != want {
		t.Errorf("window %d, want what 100 Gbit/s carry in 1.5 times %v", w, fineBase)
	}
	c := fine(lineRate)
	c.Base(2 * fineBase)
	if c.Window() != want {
		t.Errorf("window %d: a longer path counts", c.Window())
	}
	c = fine(lineRate / 1000)
	if c.Window() != InitialWindow {
		t.Errorf("window %d on a slow line, want no less than %d", c.Window(), InitialWindow)
	}
}

// A window in use is not begun anew by a challenge.
func TestBaseCountsBeforeTheFirstAcknowledgement(t *testing.T) {
	c, now := fine(lineRate), mono.Time(1)
	c.play(&now, 1, 0)
	before := c.Window()
	c.Base(fineBase / 2)
	if c.Window() != before {
		t.Errorf("window went from %d to %d", before, c.Window())
	}
}

// The target is known from the first packet on, so slow start is not ended by a
// queue that is shorter than it.
func TestTargetIsKnownFromTheStart(t *testing.T) {
	if got := fine(0).Target(); got != fineBase {
		t.Fatalf("target %v, want %v", got, fineBase)
	}
	c, now := fine(0), mono.Time(1)
	c.play(&now, 1, fineBase/3)
	if w := c.Window(); w < 2*InitialWindow-MSS {
		t.Errorf("window %d after a round, want it doubled", w)
	}
}

func TestLineBoundsRateAndWindow(t *testing.T) {
	c, now := fine(lineRate), mono.Time(1)
	for range 200 {
		c.play(&now, 1, 0)
		if c.Rate() > c.lineRate() {
			t.Fatalf("rate %.0f on a line of %.0f", c.Rate(), lineRate)
		}
		if most := 2 * lineRate * fineBase.Seconds(); float64(c.Window()) > most+1 {
			t.Fatalf("window %d, more than %.0f", c.Window(), most)
		}
	}
	if c.Rate() != c.lineRate() {
		t.Errorf("rate %.0f, want all that the line carries", c.Rate())
	}
}

// Nothing leaves faster than the line from the first packet on, not even before
// the first acknowledgement: what is sent all at once waits in front of the line,
// and that would be taken for the network's queue.
func TestFirstWindowLeavesAtTheLinesPace(t *testing.T) {
	if c := fine(lineRate); c.Rate() != c.lineRate() {
		t.Errorf("rate %.0f before the first sample", c.Rate())
	}
	if r := fine(0).Rate(); r != 0 {
		t.Errorf("rate %.0f, without a line or a sample", r)
	}
}

// How fast a host's line is says nothing of a network that is large.
func TestLineSaysNothingOfLongPaths(t *testing.T) {
	c := New(0)
	c.SetLine(lineRate)
	c.Base(20 * time.Millisecond)
	if c.Window() != InitialWindow || c.ceiling() != MaxWindow {
		t.Errorf("window %d of at most %.0f", c.Window(), c.ceiling())
	}
	if c.Rate() != c.lineRate() {
		t.Errorf("rate %.0f, want no more than the line's", c.Rate())
	}
}

// Packets and what they take on the wire beyond their payload never need more than the
// line, whatever their size.
func TestRateLeavesRoomForHeaders(t *testing.T) {
	for _, size := range []int{1200, 1472, 8972} {
		c := fine(lineRate)
		c.Packet(size)
		wire := c.Rate() / float64(size) * float64(size+wireOverhead)
		if wire > lineRate || wire < 0.99*lineRate {
			t.Errorf("packets of %d bytes take %.4f of the line", size, wire/lineRate)
		}
	}
}

// The longer the way, the less the line says of it, and no first window is much smaller than that
// of a way a tenth shorter.
func TestLineTellsEverLess(t *testing.T) {
	last := 0.0
	for base := 100 * time.Microsecond; base < 100*time.Millisecond; base += base / 10 {
		c := New(0)
		c.SetLine(lineRate)
		c.Base(base)
		now := float64(c.Window())
		if now < InitialWindow || (last > 0 && now < 0.7*last) {
			t.Fatalf("a first window of %.0f bytes at %v, %.0f just before", now, base, last)
		}
		last = now
	}
	if last != InitialWindow {
		t.Errorf("a first window of %.0f bytes on the longest way", last)
	}
}
