package linkemu

import (
	"fmt"
	"time"
)

// Impairment holds the faults of one class. The zero value of an Impairment changes nothing.
// Probabilities are from 0 to 1, and independent of each other.
type Impairment struct {
	Delay  time.Duration // added to every frame
	Jitter time.Duration // additional delay, uniform from 0 to Jitter; frames keep their order
	// Deviation makes the delay normally distributed with this standard deviation. The delay
	// never becomes negative, and frames keep their order.
	Deviation time.Duration

	// RateBytesPerSec is the rate of the class; 0 means no limit. The size of a frame is its size
	// on the wire, without preamble and checksum. LimitBytes is the size of the drop-tail queue
	// at that rate; 0 means defaultLimitBytes.
	RateBytesPerSec int64
	LimitBytes      int

	Loss      float64
	Duplicate float64 // the copy follows immediately
	// Reorder is the share of frames with an additional delay of ReorderBy, so that later frames
	// overtake them. If ReorderBy is 0, the delay is defaultReorderBy.
	Reorder   float64
	ReorderBy time.Duration
	// Corrupt is the share of frames in which one bit after the UDP or TCP header is flipped.
	Corrupt float64
	// FixChecksum recomputes the UDP or TCP checksum of a corrupted frame. With FixChecksum, only
	// the application can detect the corruption, as after a fault inside a router. Without
	// FixChecksum, the receiving kernel drops the corrupted frame.
	FixChecksum bool
}

// defaultLimitBytes is the usual queue of a switch port for each 100 Mbit/s, in bytes.
const defaultLimitBytes = 256 << 10

// At 100 Mbit/s, tens of full frames overtake a frame that is delayed by 3 ms.
const defaultReorderBy = 3 * time.Millisecond

// check returns an error that names the first invalid field of im.
func (im Impairment) check() error {
	for _, p := range []struct {
		name string
		v    float64
	}{{"Loss", im.Loss}, {"Duplicate", im.Duplicate}, {"Reorder", im.Reorder}, {"Corrupt", im.Corrupt}} {
		if !(p.v >= 0 && p.v <= 1) {
			return fmt.Errorf("linkemu: %s = %v is not a probability", p.name, p.v)
		}
	}
	if im.Delay < 0 || im.Jitter < 0 || im.Deviation < 0 || im.ReorderBy < 0 || im.RateBytesPerSec < 0 || im.LimitBytes < 0 {
		return fmt.Errorf("linkemu: negative value in %+v", im)
	}
	return nil
}

// Stats counts the frames of a Line by their fate. The sum In + Duplicated always equals Out +
// Lost + Overflow + TooMany + Oversize + the waiting frames.
type Stats struct {
	In, Out    uint64
	Lost       uint64 // frames dropped because of Impairment.Loss
	Overflow   uint64 // frames dropped because of Impairment.LimitBytes
	TooMany    uint64 // frames dropped because of the bound on waiting frames of the Line
	Oversize   uint64 // frames longer than maxFrame
	Duplicated uint64
	Reordered  uint64
	Corrupted  uint64
}
