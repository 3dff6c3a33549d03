package queue

import "time"

// Stats has the queue's counters since New. At any time PushedBytes = PoppedBytes + DroppedBytes
// + Bytes().
type Stats struct {
	Pushed, Popped           uint64 // frames
	PushedBytes, PoppedBytes uint64
	Steady                   uint64 // frames pushed of small and steady flows
	DroppedBytes             uint64 // in frames dropped and segments taken off

	Marked    uint64 // frames marked CE, or that already were when a mark was due
	Shortened uint64 // segments taken off super-frames
	Dropped   uint64 // frames dropped because their delay was too long
	// ShortenedUDP and DroppedUDP count those segments and frames above that are not TCP. No sender
	// retransmits a packet that is not TCP.
	ShortenedUDP, DroppedUDP uint64
	Overflow                 uint64 // frames dropped because the queue was over its limit
	OverShare                uint64 // frames dropped because the queue was over this peer's share of the process's memory
	Flushed                  uint64 // frames dropped by Flush

	NewFlows uint64        // times that an idle flow became active
	Sojourn  time.Duration // delay of the last frame handed out
}

// Stats returns the queue's counters.
func (q *Queue) Stats() Stats { return q.stats }
