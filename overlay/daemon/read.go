package daemon

import (
	"errors"
	"os"
	"sync/atomic"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd/loop"
)

// readBatch is the most frames taken from the device before they are sent.
const readBatch = 128

// readDrops count frames from the device that no peer gets.
type readDrops struct {
	noRoute atomic.Uint64 // no allowed IP holds the destination
}

// input carries frames from one queue of the device to the peers. It implements
// loop.Input.
type input struct {
	server *server
	queue  *tundev.Queue
	batch  [readBatch]*frame.Frame
}

// inputs makes one for each queue.
func (s *server) inputs() []loop.Input {
	var all []loop.Input
	for i := range s.dev.Queues() {
		all = append(all, &input{server: s, queue: s.dev.Queue(i)})
	}
	return all
}

// FD implements loop.Input.
func (in *input) FD() int { return in.queue.FD() }

// Serve implements loop.Input.
func (in *input) Serve(touch func(*loop.Peer)) error {
	n, err := in.queue.ReadBatch(in.batch[:])
	if errors.Is(err, os.ErrClosed) {
		return nil // the loop is ending too
	}
	if err != nil {
		return err
	}
	in.server.spread(in.batch[:n], touch)
	clear(in.batch[:n])
	return nil
}

// spread gives frames to their peers, a run for the same peer at once.
func (s *server) spread(frames []*frame.Frame, touch func(*loop.Peer)) {
	for len(frames) > 0 {
		to, ok := s.route(frames[0])
		n := 1
		for n < len(frames) {
			if next, found := s.route(frames[n]); found != ok || next != to {
				break
			}
			n++
		}
		if ok {
			s.peers[to].push(frames[:n])
			touch(s.peers[to].link)
		} else {
			s.drops.noRoute.Add(uint64(n))
			for _, f := range frames[:n] {
				f.Release()
			}
		}
		frames = frames[n:]
	}
}

func (s *server) route(f *frame.Frame) (peer int, ok bool) {
	return s.table.Lookup(packet.Dst(f.Data))
}
