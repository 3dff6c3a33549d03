package queue

import (
	"math"
	"slices"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd/mono"
)

// twin is a slow model of FQ-CoDel, written after the RFCs with slices and a map.
type twin struct {
	cfg     Config
	buckets map[int]*twinFlow
	order   []int // buckets in the order of their first frame
	fresh   []*twinFlow
	served  []*twinFlow
	dropped int // bytes
}

type twinFlow struct {
	frames   []*frame.Frame
	listed   bool
	credit   int
	above    mono.Time
	dropNext mono.Time
	count    uint32
	last     uint32
	dropping bool
}

func (f *twinFlow) bytes() (n int) {
	for _, fr := range f.frames {
		n += len(fr.Data)
	}
	return n
}

func (w *twin) total() (bytes, frames int) {
	for _, f := range w.buckets {
		bytes += f.bytes()
		frames += len(f.frames)
	}
	return bytes, frames
}

func (w *twin) push(now mono.Time, f *frame.Frame) {
	f.Enqueued = now
	b := int(uint64(f.Flow) * uint64(w.cfg.Flows) >> 32)
	fl := w.buckets[b]
	if fl == nil {
		fl = &twinFlow{}
		w.buckets[b] = fl
		w.order = append(w.order, b)
	}
	fl.frames = append(fl.frames, f)
	if !fl.listed {
		fl.listed, fl.credit = true, w.cfg.Quantum
		w.fresh = append(w.fresh, fl)
	}
	for {
		bytes, frames := w.total()
		if bytes <= w.cfg.LimitBytes && frames <= max(w.cfg.LimitBytes/bytesPerFrame, minLimitFrames) {
			return
		}
		var most *twinFlow
		for _, b := range w.order {
			if fl := w.buckets[b]; most == nil || fl.bytes() > most.bytes() {
				most = fl
			}
		}
		w.dropped += len(most.frames[0].Data)
		most.frames = most.frames[1:]
	}
}

func (w *twin) pop(now mono.Time) *frame.Frame {
	for len(w.fresh)+len(w.served) > 0 {
		fromFresh := len(w.fresh) > 0
		var fl *twinFlow
		if fromFresh {
			fl, w.fresh = w.fresh[0], w.fresh[1:]
		} else {
			fl, w.served = w.served[0], w.served[1:]
		}
		if fl.credit <= 0 {
			fl.credit += w.cfg.Quantum
			w.served = append(w.served, fl)
			continue
		}
		f := w.codel(now, fl)
		switch {
		case f == nil && fromFresh && len(w.served) > 0:
			w.served = append(w.served, fl)
		case f == nil:
			fl.listed = false
		case fromFresh:
			fl.credit -= len(f.Data)
			w.fresh = append([]*twinFlow{fl}, w.fresh...)
			return f
		default:
			fl.credit -= len(f.Data)
			w.served = append([]*twinFlow{fl}, w.served...)
			return f
		}
	}
	return nil
}

func (w *twin) head(now mono.Time, fl *twinFlow) (*frame.Frame, bool) {
	if len(fl.frames) == 0 {
		fl.above = 0
		return nil, false
	}
	f := fl.frames[0]
	fl.frames = fl.frames[1:]
	all, _ := w.total()
	wait := now.Sub(f.Enqueued)
	alone := fl.bytes() == all && all <= w.cfg.Alone && wait < w.cfg.Interval/4
	standing := wait >= w.cfg.Target && fl.bytes() > len(f.Data) && fl.bytes() > 1514 && !alone
	if !standing {
		fl.above = 0
		return f, false
	}
	if fl.above == 0 {
		fl.above = now.Add(w.cfg.Interval)
		return f, false
	}
	return f, now >= fl.above
}

func (w *twin) codel(now mono.Time, fl *twinFlow) *frame.Frame {
	f, ok := w.head(now, fl)
	if !ok {
		fl.dropping = false
		return f
	}
	law := func(t mono.Time) mono.Time {
		return t.Add(time.Duration(float64(w.cfg.Interval) / math.Sqrt(float64(fl.count))))
	}
	// Single packets get no signal while super-frames wait after them.
	spared := func() bool {
		return f.Facts.GSO == frame.GSONone && f.Data[1]&3 == 0 && slices.ContainsFunc(fl.frames, func(f *frame.Frame) bool { return f.Facts.GSO != frame.GSONone })
	}
	if !fl.dropping {
		if spared() {
			return f
		}
		if !packet.SetCE(f.Data) && !w.shorten(f) {
			w.dropped += len(f.Data)
			f, _ = w.head(now, fl)
		}
		fl.dropping = true
		grown := fl.count - fl.last
		fl.count = 1
		if grown > 1 && now.Sub(fl.dropNext) < 16*w.cfg.Interval {
			fl.count = grown
		}
		fl.last = fl.count
		fl.dropNext = law(now)
		return f
	}
	for fl.dropping && now >= fl.dropNext {
		if spared() {
			fl.dropNext = now
			break
		}
		fl.count++
		if packet.SetCE(f.Data) {
			fl.dropNext = law(fl.dropNext)
			return f
		}
		if !w.shorten(f) {
			w.dropped += len(f.Data)
			if f, ok = w.head(now, fl); !ok {
				fl.dropping = false
				return f
			}
		}
		fl.dropNext = law(fl.dropNext)
	}
	return f
}

func (w *twin) shorten(f *frame.Frame) bool {
	before := len(f.Data)
	ok := packet.DropLastSegment(f)
	w.dropped += before - len(f.Data)
	return ok
}
