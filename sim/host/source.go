package host

import (
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Source is the sending side of the overlay on a connection: frames wait in a queue and are cut
// into messages. A Source always reports to the connection whether it has a backlog.
type Source struct {
	Queue *queue.Queue
	Cut   order.Segmenter
}

// Backlog implements srd.Source, and reports whether frames wait.
func (s *Source) Backlog() bool { return !s.Cut.Empty() || s.Queue.Len() > 0 }

// Pull implements srd.Source.
func (s *Source) Pull(now mono.Time, most int) (srd.Message, bool) {
	if !s.load(now) {
		return srd.Message{}, false
	}
	return s.Cut.Cut(most), true
}

// Peek implements srd.Source.
func (s *Source) Peek(now mono.Time) (flow uint32, bytes int, ok bool) {
	if !s.load(now) {
		return 0, 0, false
	}
	flow, bytes = s.Cut.Front()
	return flow, bytes, true
}

// Waiting implements srd.Source, and returns the number of queued bytes.
func (s *Source) Waiting() int { return s.Queue.Bytes() }

// load moves the next frame from the queue to the cutter, unless the cutter still has a frame.
func (s *Source) load(now mono.Time) bool {
	if s.Cut.Empty() {
		if f := s.Queue.Pop(now); f != nil {
			s.Cut.Load(f)
		}
	}
	return !s.Cut.Empty()
}
