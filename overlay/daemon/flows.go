package daemon

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/flows"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// flowsMost bounds the number of flows in a reply. It is more than a person reads.
	flowsMost = 256
	// flowsWait bounds how long a request waits until another caller's count has ended.
	flowsWait = time.Second
)

// flowCounter counts inner flows on request. Without a request, each batch of frames costs
// only a pointer check.
type flowCounter struct {
	asked  sync.Mutex // locked by the caller that counts
	active atomic.Pointer[flowCount]
}

// flowCount has the results of one count. Several threads add to a flowCount.
type flowCount struct {
	mu    sync.Mutex
	table *flows.Table
}

// sent counts frames that are sent to a peer. The caller must hold the peer's lock, which is always
// taken before the lock of the count.
func (f *flowCounter) sent(p *peer, frames []*frame.Frame) {
	if c := f.active.Load(); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, v := range frames {
			c.table.Out(p.title(), v)
		}
	}
}

// received counts ordered frames from a peer that are written to the device.
func (f *flowCounter) received(p *peer, frames []*frame.Frame) {
	if c := f.active.Load(); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, v := range frames {
			c.table.In(p.title(), v)
		}
	}
}

const takeStep = 20 * time.Millisecond

// take reserves the counter for a caller, if it becomes free within flowsWait.
func (f *flowCounter) take(ctx context.Context) bool {
	for range flowsWait / takeStep {
		if f.asked.TryLock() {
			return true
		}
		if !pause.For(ctx, takeStep) {
			return false
		}
	}
	return false
}

// waiting adds the frames that are queued for p or held for reordering.
func (p *peer) waiting(c *flowCount) {
	p.link.Do(func(mono.Time, *srd.Conn) {
		c.mu.Lock()
		defer c.mu.Unlock()
		p.out.queue.EachFlow(func(first *frame.Frame, bytes int) { c.table.Queue(p.title(), first, bytes) })
		p.in.reassembler.EachHeld(func(f *frame.Frame) { c.table.Hold(p.title(), f) })
	})
}

func describeFlow(f *flows.Flow) control.Flow {
	return control.Flow{
		Peer: f.Peer, Protocol: protocolName(f.Proto),
		Local: f.Local.String(), Remote: f.Remote.String(),
		TxBytes: f.Out.Bytes, TxPackets: f.Out.Packets, RxBytes: f.In.Bytes, RxPackets: f.In.Packets,
		QueuedBytes: f.Queued, HeldFrames: f.HeldFrames, HeldBytes: f.HeldBytes,
		ReorderedFrames: f.Reordered, LongestHoldUs: f.LongestHold.Microseconds(),
	}
}

func protocolName(p uint8) string {
	switch p {
	case packet.ProtoTCP:
		return "tcp"
	case packet.ProtoUDP:
		return "udp"
	case packet.ProtoICMP:
		return "icmp"
	case packet.ProtoICMPv6:
		return "icmp6"
	}
	return fmt.Sprint(p)
}
