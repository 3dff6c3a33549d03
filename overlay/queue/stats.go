package queue

import "time"

// Stats has the queue's counters since New. At any time PushedBytes = PoppedBytes + DroppedBytes
// + Bytes().
type Stats struct {
	Pushed, Popped           uint64 // frames
	PushedBytes, PoppedBytes uint64
	Steady                   uint64 // frames of small and steady flows among Pushed
	DroppedBytes             uint64 // bytes of dropped frames and of removed segments

	Marked    uint64 // frames that were marked CE, or already carried CE when a mark was due
	Shortened uint64 // segments removed from super-frames
	Dropped   uint64 // frames dropped because their delay was too long
	// ShortenedUDP and DroppedUDP count the segments in Shortened, and the frames in Dropped, that
	// are not TCP. They are lost to the application, because no sender retransmits them.
	ShortenedUDP, DroppedUDP uint64
	Overflow                 uint64 // frames dropped because the queue exceeded its limit
	OverShare                uint64 // frames dropped because the queue exceeded the peer's share of memory
	Flushed                  uint64 // frames dropped by Flush

	NewFlows uint64        // times that an idle flow became active
	Sojourn  time.Duration // delay of the last frame that Pop returned
}

// Stats returns the queue's counters.
func (q *Queue) Stats() Stats { return q.stats }
