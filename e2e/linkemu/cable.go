package linkemu

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// wakeEvery bounds the sleep of a goroutine, so that it notices Close.
const wakeEvery = 50 * time.Millisecond

// Cable joins two network interfaces. Each direction of a Cable has its own Line and goroutine.
type Cable struct {
	ports   [2]*port
	dirs    [2]direction
	closing atomic.Bool
	running sync.WaitGroup
}

// direction moves frames from one port to the other through a Line.
type direction struct {
	from, to *port
	mu       sync.Mutex // for Stats, which asks while frames move
	line     *Line
	drops    Drops
	err      error
	frames   [batchFrames][]byte
}

// Drops counts the frames that a Cable lost by itself, by reason.
type Drops struct {
	Unusable uint64 // a super-frame, or a header from the kernel without sense
	NotSent  uint64 // the sending interface took no more
}

// Join starts a Cable between two interfaces in the network namespace of the calling thread (see
// fabric.Namespace.Do). Frames from the interface left pass through the Line ab, and frames from
// right through ba. Until Close has returned, no other code may use the two Lines.
func Join(left, right string, ab, ba *Line) (*Cable, error) {
	a, err := openPort(left)
	if err != nil {
		return nil, err
	}
	b, err := openPort(right)
	if err != nil {
		a.close()
		return nil, err
	}
	c := &Cable{ports: [2]*port{a, b}}
	c.dirs[0].from, c.dirs[0].to, c.dirs[0].line = a, b, ab
	c.dirs[1].from, c.dirs[1].to, c.dirs[1].line = b, a, ba
	for i := range c.dirs {
		c.running.Go(func() { c.dirs[i].run(&c.closing) })
	}
	return c, nil
}

// Stats returns the counts of both directions: from left to right, and from right to left.
func (c *Cable) Stats() (ab, ba Stats) {
	for i, s := range []*Stats{&ab, &ba} {
		c.dirs[i].mu.Lock()
		*s = c.dirs[i].line.Stats
		c.dirs[i].mu.Unlock()
	}
	return ab, ba
}

// Drops counts losses other than the Lines' faults, for both directions together.
func (c *Cable) Drops() (d Drops) {
	for i := range c.dirs {
		c.dirs[i].mu.Lock()
		d.Unusable += c.dirs[i].drops.Unusable
		d.NotSent += c.dirs[i].drops.NotSent
		c.dirs[i].mu.Unlock()
	}
	return d
}

// Close stops the Cable, and joins its goroutines. Close returns the error that had already
// stopped the Cable, if any.
func (c *Cable) Close() error {
	c.closing.Store(true)
	c.running.Wait()
	for _, p := range c.ports {
		p.close()
	}
	return errors.Join(c.dirs[0].err, c.dirs[1].err)
}

func (d *direction) run(closing *atomic.Bool) {
	for !closing.Load() {
		if d.err = d.turn(); d.err != nil {
			d.err = fmt.Errorf("linkemu: %s to %s: %w", d.from.name, d.to.name, d.err)
			return
		}
	}
}

// turn sends the due frames, receives the waiting frames, and sleeps until the next event.
func (d *direction) turn() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sendDue(clock())
	n, bad, err := d.from.receive(func(frame []byte) {
		// The time is read after the frame has been received. Sending may take long, and must not
		// shorten the delay of frames that arrive meanwhile. The Line itself counts a frame that
		// is too long, so the error is ignored.
		_ = d.line.Push(clock(), frame)
	})
	d.drops.Unusable += uint64(bad)
	if err != nil {
		return err
	}
	if n > 0 {
		return nil
	}
	wait := wakeEvery
	if at, ok := d.line.Deadline(); ok {
		wait = min(wait, time.Duration(at-clock()))
	}
	if wait <= 0 {
		return nil
	}
	d.mu.Unlock()
	err = d.from.wait(wait)
	d.mu.Lock()
	return err
}

func (d *direction) sendDue(now int64) {
	for {
		n := 0
		for n < batchFrames {
			f := d.line.Pop(now)
			if f == nil {
				break
			}
			d.frames[n], n = f, n+1
		}
		if n == 0 {
			return
		}
		for out := d.frames[:n]; len(out) > 0; {
			k, err := d.to.send(out)
			if err != nil {
				// The kernel refused this frame, for instance because a queue is full.
				d.drops.NotSent++
				k = 1
			}
			out = out[k:]
		}
		for _, f := range d.frames[:n] {
			d.line.Recycle(f)
		}
	}
}

// wait sleeps until a frame arrives at the port, at most d.
func (p *port) wait(d time.Duration) error {
	ts := unix.NsecToTimespec(int64(d))
	_, err := unix.Ppoll([]unix.PollFd{{Fd: int32(p.fd), Events: unix.POLLIN}}, &ts, nil)
	if err == unix.EINTR {
		return nil
	}
	return err
}

// start is the time at which clock returns 0.
var start = time.Now()

// clock returns monotonic time in nanoseconds.
func clock() int64 { return int64(time.Since(start)) }
