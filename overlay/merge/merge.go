// Package merge joins packets of one flow into super-frames for the TUN device. For a super-frame,
// the kernel needs one write and one pass through its stack, instead of many. Network drivers join
// packets in the same way (generic receive offload, GRO). No packet waits for later ones, because a
// super-frame joins only packets that the driver delivers in one round.
package merge

import (
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

// These constants are the limits of a Merger.
const (
	// openRuns is the number of flows merged at the same time, as in the kernel's GRO buckets
	// (MAX_GRO_SKBS).
	openRuns = 8
	// maxParts is the largest number of packets in a run, as UDP_MAX_SEGMENTS of kernels before
	// 6.9.
	maxParts = 64
)

// Config connects a Merger to the device.
type Config struct {
	Off bool // the device takes no super-frames
	UDP bool // the device takes UDP super-frames
	// Tunnels means that the device accepts super-frames inside UDP tunnels. If UDP is not set, UDP
	// datagrams inside the tunnels are not joined.
	Tunnels bool
	Alloc   func(n int) *frame.Frame    // returns a frame with one reference and n bytes of Data
	Write   func(*frame.Frame, Outcome) // takes ownership of a frame
}

// Outcome is the way in which a written frame was made, for counters.
type Outcome uint8

// These constants are the outcomes of a written frame.
const (
	AsCame Outcome = iota
	Joined         // the Merger joined several packets, and wrote the headers
)

// Merger joins the frames of each flow into super-frames. A Merger is not safe for concurrent
// use.
type Merger struct {
	cfg  Config
	runs [openRuns]run
	open []*run // oldest first
	info packet.Part
}

// run is a sequence of packets of one flow that are written as one frame.
type run struct {
	first packet.Part
	parts [maxParts]*frame.Frame
	n     int
	bytes int  // payload
	size  int  // payload bytes of each part but the last
	last  bool // the newest part ends the run
}

// New returns an empty Merger.
func New(cfg Config) *Merger {
	m := &Merger{cfg: cfg}
	m.open = make([]*run, 0, openRuns)
	return m
}

// Add takes ownership of the frame f. Frames of one flow are written in the order in which they
// were added.
func (m *Merger) Add(f *frame.Frame) {
	in := &m.info
	if m.cfg.Off || packet.Parse(f.Data, &in.Info) != packet.OK {
		m.cfg.Write(f, AsCame) // Write counts invalid frames
		return
	}
	i := m.find(in)
	if !in.Joinable(f.Data, f.Facts, m.cfg.Tunnels) || in.Kind.Inner() == frame.GSOUDP && !m.cfg.UDP {
		if i >= 0 {
			m.close(i)
		}
		m.cfg.Write(f, AsCame)
		return
	}
	if i >= 0 && !m.open[i].add(f, in) {
		m.close(i)
		i = -1
	}
	if i < 0 {
		m.begin(f)
	}
}

// Flush writes all open runs of packets to the device.
func (m *Merger) Flush() {
	for len(m.open) > 0 {
		m.close(0)
	}
}

func (m *Merger) find(in *packet.Part) int {
	for i, r := range m.open {
		if packet.SameFlow(&r.first.Info, &in.Info) {
			return i
		}
	}
	return -1
}

// begin opens a run with the frame f, whose headers m.info describes.
func (m *Merger) begin(f *frame.Frame) {
	if len(m.open) == openRuns {
		m.close(0)
	}
	for i := range m.runs {
		if r := &m.runs[i]; r.n == 0 {
			r.first, r.n = m.info, 1
			r.parts[0] = f
			r.bytes = m.info.Payload()
			r.size, r.last = r.bytes, m.info.Pushed(f.Data)
			m.open = append(m.open, r)
			return
		}
	}
}

// add appends the frame f to the run if f continues the run, and reports whether it does.
func (r *run) add(f *frame.Frame, in *packet.Part) bool {
	n := in.Payload()
	if r.last || r.n == maxParts || n > r.size || r.first.TotalLen+r.bytes-r.size+n > packet.MaxLen ||
		f.Facts.Ordered != r.parts[0].Facts.Ordered ||
		!r.first.Follows(r.parts[0].Data, r.n, r.bytes, f.Data, in) {
		return false
	}
	r.parts[r.n] = f
	r.n++
	r.bytes += n
	r.last = n < r.size || in.Pushed(f.Data)
	return true
}

// close writes the run with index i to the device.
func (m *Merger) close(i int) {
	r := m.open[i]
	m.open = append(m.open[:i], m.open[i+1:]...)
	parts := r.parts[:r.n]
	r.n = 0
	if len(parts) == 1 {
		m.cfg.Write(parts[0], AsCame)
		parts[0] = nil
		return
	}
	f := m.cfg.Alloc(r.first.Headers() + r.bytes)
	r.first.Join(f.Data, parts)
	f.Facts = frame.Facts{GSO: r.first.Kind, GSOSize: uint16(r.size), CSum: true, Ordered: parts[0].Facts.Ordered}
	for k, p := range parts {
		p.Release()
		parts[k] = nil
	}
	m.cfg.Write(f, Joined)
}
