package linkemu

import (
	"errors"
	"math/rand/v2"
	"time"
)

// maxFrame is the maximum size of a frame in bytes, with an Ethernet header, a VLAN tag and an
// MTU of 9000.
const maxFrame = 9000 + 18

// maxWaiting bounds the number of frames in a Line: those of 0.3 s at 100 000 frames per second.
// No test needs a longer queue in a Line. At worst, the waiting frames take 300 MB.
const maxWaiting = 1 << 15

// Line is one direction of a cable. A Line must not be used concurrently.
type Line struct {
	Stats   Stats
	classes []class
	seed    uint64
	rand    *rand.Rand
	waiting schedule
	pushed  uint64
	free    [][]byte
}

// class is an Impairment with the state of its link. All times are nanoseconds of the caller's
// clock.
type class struct {
	Impairment
	idleAt int64 // time by which the rate limit has sent all frames
	lastAt int64 // departure time of the latest frame that kept its order
}

// NewLine makes a Line with one class for each impairment. A hash of the ports assigns a flow to
// a class. If two Lines have the same seed, a flow has the same class in both directions. Frames
// without ports belong to the first class. Without any impairment, the Line has one class that
// changes nothing.
func NewLine(seed uint64, impairments ...Impairment) (*Line, error) {
	if len(impairments) == 0 {
		impairments = []Impairment{{}}
	}
	l := &Line{seed: seed, rand: rand.New(rand.NewPCG(seed, 0x6c696e65))}
	for _, im := range impairments {
		if err := im.check(); err != nil {
			return nil, err
		}
		if im.LimitBytes == 0 {
			im.LimitBytes = defaultLimitBytes
		}
		if im.ReorderBy == 0 {
			im.ReorderBy = defaultReorderBy
		}
		l.classes = append(l.classes, class{Impairment: im})
	}
	return l, nil
}

var errOversize = errors.New("linkemu: frame is longer than maxFrame")

// Push copies a frame that arrives at the time now into the Line. The time now must not decrease
// from call to call. Push returns an error only for a frame that is too long for any Line.
func (l *Line) Push(now int64, frame []byte) error {
	l.Stats.In++
	if len(frame) > maxFrame {
		l.Stats.Oversize++
		return errOversize
	}
	t, isFlow := parse(frame)
	c := &l.classes[0]
	if isFlow {
		c = &l.classes[l.classOf(t.ports(frame))]
	}
	if l.draw(c.Loss) {
		l.Stats.Lost++
		return nil
	}
	at, ok := c.departure(now, len(frame))
	if !ok {
		l.Stats.Overflow++
		return nil
	}
	l.schedule(c, l.delayed(c, at), frame, t, isFlow)
	return nil
}

// schedule schedules a frame with its faults, and perhaps a copy of the frame.
func (l *Line) schedule(c *class, at int64, frame []byte, t transport, isFlow bool) {
	if len(l.waiting) >= maxWaiting {
		l.Stats.TooMany++
		return
	}
	own := append(l.buffer(), frame...)
	if isFlow && l.draw(c.Corrupt) && t.body < t.end {
		l.Stats.Corrupted++
		own[t.body+l.rand.IntN(t.end-t.body)] ^= 1 << l.rand.IntN(8)
		if c.FixChecksum {
			t.setChecksum(own)
		}
	}
	l.add(at, own)
	if l.draw(c.Duplicate) && len(l.waiting) < maxWaiting {
		l.Stats.Duplicated++
		l.add(at, append(l.buffer(), own...))
	}
}

func (l *Line) add(at int64, frame []byte) {
	l.pushed++
	l.waiting.push(slot{at: at, order: l.pushed, frame: frame})
}

// Pop removes and returns the next frame that is due, or returns nil. A frame from Pop belongs to
// the caller. The caller may return the frame with Recycle.
func (l *Line) Pop(now int64) []byte {
	if len(l.waiting) == 0 || l.waiting[0].at > now {
		return nil
	}
	l.Stats.Out++
	return l.waiting.pop().frame
}

// Recycle returns the memory of a frame from Pop to the Line.
func (l *Line) Recycle(frame []byte) { l.free = append(l.free, frame[:0]) }

// Deadline returns the time at which the next frame is due, and false without a frame.
func (l *Line) Deadline() (int64, bool) {
	if len(l.waiting) == 0 {
		return 0, false
	}
	return l.waiting[0].at, true
}

func (l *Line) buffer() []byte {
	if n := len(l.free); n > 0 {
		b := l.free[n-1]
		l.free = l.free[:n-1]
		return b
	}
	return make([]byte, 0, 2048)
}

// classOf hashes a flow's key by the finalizer of splitmix64, with the Line's seed as salt.
func (l *Line) classOf(key uint16) int {
	x := uint64(key) + l.seed*0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return int((x ^ x>>31) % uint64(len(l.classes)))
}

// draw returns true with the given probability. If the outcome is certain, draw uses no
// randomness.
func (l *Line) draw(probability float64) bool {
	return probability > 0 && l.rand.Float64() < probability
}

// departure returns the time at which the class finishes sending the frame at its rate. If the
// queue of the class is full, departure returns false.
func (c *class) departure(now int64, size int) (int64, bool) {
	if c.RateBytesPerSec == 0 {
		return now, true
	}
	c.idleAt = max(c.idleAt, now)
	queued := (c.idleAt - now) * c.RateBytesPerSec / int64(time.Second)
	if queued+int64(size) > int64(c.LimitBytes) {
		return 0, false
	}
	c.idleAt += int64(size) * int64(time.Second) / c.RateBytesPerSec
	return c.idleAt, true
}

// delayed adds the delay and the jitter to a departure time. Frames of a class keep their order,
// except for frames chosen for reordering.
func (l *Line) delayed(c *class, at int64) int64 {
	sent := at
	at += int64(c.Delay)
	if c.Jitter > 0 {
		at += l.rand.Int64N(int64(c.Jitter) + 1)
	}
	if c.Deviation > 0 {
		at = max(sent, at+int64(l.rand.NormFloat64()*float64(c.Deviation)))
	}
	at = max(at, c.lastAt)
	if l.draw(c.Reorder) {
		l.Stats.Reordered++
		return at + int64(c.ReorderBy)
	}
	c.lastAt = at
	return at
}
