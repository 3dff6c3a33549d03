package daemon

import (
	"errors"
	"os"
	"runtime"
	"sync/atomic"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

// readBatch is the most frames taken from the device before they are sent.
const readBatch = 128

// readDrops count frames from the device that no peer gets.
type readDrops struct {
	noRoute atomic.Uint64 // no allowed IP holds the destination
}

// read carries frames from the device to the peers until the device is closed.
// It has a thread of its own: blocking there wakes sooner and more evenly than
// through Go's poller.
func (s *server) read() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	batch := make([]*frame.Frame, readBatch)
	for {
		n, err := s.dev.ReadBatch(batch)
		if err != nil {
			if errors.Is(err, os.ErrClosed) {
				return nil
			}
			return err
		}
		s.spread(batch[:n])
		clear(batch[:n])
	}
}

// spread gives frames to their peers, a run for the same peer at once.
func (s *server) spread(frames []*frame.Frame) {
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
