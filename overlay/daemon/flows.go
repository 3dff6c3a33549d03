package daemon

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/flows"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// flowsMost is how many flows an answer has: more than anybody reads.
	flowsMost = 256
	// flowsWait is how long one who asks waits for another one's count to end.
	flowsWait = time.Second
)

// flowCounter counts inner flows while somebody asks for them. While nobody does, a batch
// of frames costs a look at one pointer.
type flowCounter struct {
	asked  sync.Mutex // held by the one who asks
	active atomic.Pointer[flowCount]
}

// flowCount is one count, which several threads add to.
type flowCount struct {
	mu    sync.Mutex
	table *flows.Table
}

// sent counts frames that leave for a peer, which is locked. The count's lock is the inner one.
func (f *flowCounter) sent(p *peer, frames []*frame.Frame) {
	if c := f.active.Load(); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, v := range frames {
			c.table.Out(p.title(), v)
		}
	}
}

// received counts frames that came from a peer, in order, and go to the device.
func (f *flowCounter) received(p *peer, frames []*frame.Frame) {
	if c := f.active.Load(); c != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, v := range frames {
			c.table.In(p.title(), v)
		}
	}
}

// takeStep is how often one who waits for the counter looks again.
const takeStep = 20 * time.Millisecond

// take makes the caller the one who asks, if it can be had soon.
func (f *flowCounter) take(ctx context.Context) bool {
	for range flowsWait / takeStep {
		if f.asked.TryLock() {
			return true
		}
		if !pause(ctx, takeStep) {
			return false
		}
	}
	return false
}

// waiting adds what waits at p at the moment, in both directions.
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

// protocolName is what people call a protocol.
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
