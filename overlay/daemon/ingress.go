package daemon

import (
	"errors"
	"math"
	"os"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
)

// ingress reads packets from the device and queues them for their peers.
type ingress struct {
	running *runningConfig
	device  *device
	drops   readDrops
	paused  atomic.Bool // this process no longer reads the device; after a handover the next process reads it
	stalls  stallDetector
	flows   flowCounter
	rejects unreachables
}

// These limits apply to the frames that are read from the device before any of them is sent. The
// device's queue is first in, first out. If it contains several flows, the worker empties it into
// the peers' queues, which are separate for each flow. If there is a single flow, the worker reads
// only a few super-frames at a time. A frame that is read long before it is sent leaves the
// processor's cache, and sending it then costs a tenth of the rate.
const (
	readBatch   = 128                    // frames, in any case
	aloneBytes  = 256 << 10              // while there is a single flow
	companyLast = 100 * time.Millisecond // how long a second flow counts as present after its latest frame
)

// readDrops counts dropped frames that have no peer, or whose peer was removed.
type readDrops struct {
	noRoute atomic.Uint64 // no peer's allowed IPs contain the destination
	stale   atomic.Uint64 // datagrams that waited in the device while the process was stopped
	removed atomic.Uint64 // frames whose peer was removed from the configuration in the meantime
}

// input passes frames from one queue of the device to the peers. Type input implements
// loop.Input.
type input struct {
	ingress *ingress
	queue   batches
	length  int // capacity of the device's queue in frames
	clock   func() mono.Time
	batch   [readBatch]*frame.Frame

	flow    uint32    // flow of the latest frame
	company mono.Time // time at which the field flow last changed
	bulk    bulkFlows
	old     afterStop
}

// batches has the methods of tundev.Queue that an input uses.
type batches interface {
	FD() int
	ReadBatch(dst []*frame.Frame, most int) (int, error)
}

func (in *ingress) inputs(clock func() mono.Time) []loop.Input {
	var all []loop.Input
	for i := range in.device.tun.Queues() {
		all = append(all, &input{
			ingress: in,
			queue:   in.device.tun.Queue(i),
			length:  max(in.device.tun.Offloads().TxQueueLen, tundev.DefaultTxQueueLen),
			clock:   clock,
		})
	}
	return all
}

// FD implements loop.Input.
func (in *input) FD() int { return in.queue.FD() }

// Serve implements loop.Input.
func (in *input) Serve(touch func(*loop.Peer, bool)) error {
	if in.ingress.paused.Load() {
		return nil
	}
	now, frames, err := in.read()
	if errors.Is(err, os.ErrClosed) {
		return nil // the loop is ending, too
	}
	if err != nil {
		return err
	}
	in.dispatch(now, frames, touch)
	clear(frames)
	return nil
}

// read reads a batch from the device, and drops datagrams that are too old because the process
// was stopped. The method read() returns the time after the read, and the kept frames in
// in.batch. If the process is stopped during the read, the batch contains the frames that
// arrived during the stop.
func (in *input) read() (mono.Time, []*frame.Frame, error) {
	most := aloneBytes
	if in.company != 0 && in.clock().Sub(in.company) < companyLast {
		most = math.MaxInt
	}
	n, err := in.queue.ReadBatch(in.batch[:], most)
	if err != nil {
		return 0, nil, err
	}
	now, frames := in.clock(), in.batch[:n]
	if resumed := in.ingress.stalls.note(now); resumed != in.old.resumed || in.old.left > 0 {
		bytes := 0
		for _, f := range frames {
			bytes += len(f.Data)
		}
		kept, dropped := in.old.filter(resumed, in.length, frames, n == readBatch || bytes >= most)
		in.ingress.drops.stale.Add(uint64(dropped))
		frames = kept
	}
	for _, f := range frames {
		if f.Flow != in.flow {
			in.flow, in.company = f.Flow, now
		}
	}
	return now, frames, nil
}

// dispatch passes frames to their peers; consecutive frames of one peer are passed together.
func (in *input) dispatch(now mono.Time, frames []*frame.Frame, touch func(*loop.Peer, bool)) {
	current := in.ingress.running.Load()
	for len(frames) > 0 {
		to := current.route(frames[0])
		n := 1
		for n < len(frames) {
			if current.route(frames[n]) != to {
				break
			}
			n++
		}
		if to != nil {
			in.push(now, to, frames[:n], touch)
		} else {
			in.ingress.drops.noRoute.Add(uint64(n))
			in.refuse(now, frames[:n])
		}
		frames = frames[n:]
	}
}

func (in *input) push(now mono.Time, to *peer, frames []*frame.Frame, touch func(*loop.Peer, bool)) {
	urgent := in.bulk.urgent(now, frames)
	if !to.push(now, frames) {
		in.refuse(now, frames)
		return
	}
	touch(to.link, urgent) // frames now belong to the peer
}

// refuse drops frames without a receiving peer, and sends ICMP errors to their senders.
func (in *input) refuse(now mono.Time, frames []*frame.Frame) {
	in.ingress.rejects.tell(now, frames...)
	for _, f := range frames {
		f.Release()
	}
}
