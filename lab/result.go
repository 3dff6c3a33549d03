package lab

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/sim/net"
)

// Result holds the results of one run.
type Result struct {
	Plan   string           `json:"plan"`
	Title  string           `json:"title"`
	Case   string           `json:"case"`
	Order  int              `json:"order"`            // position of the case in its plan
	Figure string           `json:"figure,omitempty"` // this field and those down to Skip are copied from the case
	Line   string           `json:"line,omitempty"`
	X      float64          `json:"x,omitempty"`
	Group  string           `json:"group,omitempty"`
	Skip   int              `json:"skip,omitempty"`
	Host   string           `json:"host"` // name of the host model
	Seed   uint64           `json:"seed"`
	Hash   string           `json:"hash"`   // hash over the results of all flows, to compare runs
	Events uint64           `json:"events"` // number of the simulator's events
	Time   float64          `json:"time_us"`
	Flows  []FlowResult     `json:"flows"`
	Links  []LinkResult     `json:"links"` // links that carried packets
	Stats  map[string]Stats `json:"stats"` // by transport
	// Sample is the sampling interval in microseconds. Samples holds the bytes that each flow
	// delivered in each interval.
	Sample  float64   `json:"sample_us,omitempty"`
	Samples [][]int64 `json:"samples,omitempty"`
	// Uplinks holds the samples of links between switches, if the plan asks for them.
	Uplinks []LinkSamples `json:"uplinks,omitempty"`
}

// LinkSamples are samples of a link: the bytes that it carried in each interval, and the bytes in
// its queue at the end of the interval.
type LinkSamples struct {
	Name    string  `json:"name"`
	Bytes   []int64 `json:"bytes"`
	Waiting []int   `json:"waiting"`
}

// FlowResult holds the results of one flow. All times of a FlowResult are in microseconds.
type FlowResult struct {
	ID    int     `json:"id"`
	Src   int     `json:"src"`
	Dst   int     `json:"dst"`
	Size  int64   `json:"size"`
	Group string  `json:"group,omitempty"`
	Start float64 `json:"start_us"`
	// FCT is the flow completion time, from the start to the last byte at the receiver. An FCT of 0
	// means that the flow did not complete.
	FCT float64 `json:"fct_us"`
	// Ideal is the shortest possible completion time on the busier of the flow's two host links. It
	// assumes that only this flow, and the flows with the same start time, use the link. It
	// includes the delay of one packet through an empty network.
	Ideal     float64 `json:"ideal_us"`
	Delivered int64   `json:"delivered"`
}

// LinkResult holds the counters of a link since time zero.
type LinkResult struct {
	Name    string `json:"name"`
	Packets uint64 `json:"packets"`
	Bytes   uint64 `json:"bytes"`
	Queue   uint64 `json:"queue_drops"`
	Faults  uint64 `json:"fault_drops"` // packets lost by random loss, by a policer, and while the link was down
	Marked  uint64 `json:"marked"`
	Peak    int    `json:"peak_bytes"` // largest number of bytes in the queue
}

// linkCount holds the counters of a link at time zero.
type linkCount struct {
	packets, bytes, marked uint64
	drops                  [net.NumLinkDrops]uint64
}

// counts reads the counters of all links, and resets their peak values.
func (r *run) counts() (v []linkCount) {
	for _, l := range r.net.Links() {
		v = append(v, linkCount{l.Packets, l.Bytes, l.Marked, l.Drops})
		l.Peak = 0
	}
	return v
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// idealPacket is the size in bytes of the packet whose delay the ideal time includes.
const idealPacket = 1500

func (r *run) result() *Result {
	x := &Result{
		Plan: r.plan.Name, Title: r.plan.Title, Case: r.c.Name, Host: r.on.Name, Seed: r.seed,
		Order: r.c.order, Figure: r.c.Figure, Line: r.c.Line, X: r.c.X, Group: r.c.Group, Skip: r.c.Skip, Events: r.engine.Done(),
		Time: micros(r.engine.Now().Sub(r.zero)), Stats: map[string]Stats{},
		Sample: micros(r.plan.Sample.Duration), Samples: r.samples, Uplinks: r.links,
	}
	for i, f := range r.flows {
		x.Flows = append(x.Flows, r.flow(i, f))
		r.engine.Note(0, "flow", uint64(f.ID), uint64(f.delivered), uint64(f.ended))
	}
	for i, l := range r.net.Links() {
		b := &r.before[i]
		y := LinkResult{
			Name: l.Name(), Packets: l.Packets - b.packets, Bytes: l.Bytes - b.bytes, Marked: l.Marked - b.marked, Peak: l.Peak,
			Queue: l.Drops[net.LinkQueue] - b.drops[net.LinkQueue],
		}
		for k := range l.Drops {
			if net.LinkDrop(k) != net.LinkQueue {
				y.Faults += l.Drops[k] - b.drops[k]
			}
		}
		r.engine.Note(0, "link", y.Packets, y.Queue, y.Faults)
		if y.Packets+y.Queue+y.Faults > 0 {
			x.Links = append(x.Links, y)
		}
	}
	for _, name := range r.names {
		x.Stats[name] = r.byName[name].Stats()
	}
	x.Hash = fmt.Sprintf("%016x", r.engine.Hash())
	return x
}

func (r *run) flow(i int, f *Flow) FlowResult {
	x := FlowResult{ID: i, Src: f.Src, Dst: f.Dst, Size: f.Size, Group: f.Group, Delivered: f.delivered}
	x.Start = micros(f.begun.Sub(r.zero))
	if f.ended != 0 {
		x.FCT = micros(f.ended.Sub(f.begun))
	}
	// out and in are the sums of bytes over the flows with the same start time in the same batch,
	// at the sender's and at the receiver's link.
	var out, in int64
	for k, g := range r.flows {
		if r.batch[k] == r.batch[i] && g.At == f.At && g.Group == f.Group {
			if g.Src == f.Src {
				out += g.Size
			}
			if g.Dst == f.Dst {
				in += g.Size
			}
		}
	}
	delay, rate := r.net.Path(f.Src, f.Dst, int(min(f.Size, idealPacket)))
	x.Ideal = micros(delay) + float64(max(out, in))/rate*1e6
	return x
}
