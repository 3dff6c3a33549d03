package cc

import "time"

const (
	// lineShare is the share of the line that packets leave at, at most. A sender that
	// is faster than its own line queues in front of it, and its acknowledgements wait
	// there too; what is left lets such a queue run dry.
	lineShare = 0.9925
	// wireOverhead is what a packet takes on the line beyond its UDP payload: UDP 8,
	// IPv4 20, and Ethernet's header, check sequence, preamble and gap 38.
	wireOverhead = 66
	// firstProducts is how many products of line and base round trip the first window
	// is. With one, the sender waits at the end of its first round trip for whatever
	// the acknowledgements of others' packets did to its own.
	firstProducts = 1.5
	// nearBase is the longest base round trip on which the host's line says what the
	// network carries: within a data centre links are as fast as those of the hosts, and a
	// round trip through kernels and switches takes 20 to 300 us.
	nearBase = TargetFloor / jitterBases
)

// SetLine tells the rate in bytes per second of the line that everything leaves
// on; 0, the default, is unknown. The rate never exceeds it, and begins at it. On a
// fabric the first window is what the line carries in one and a half base round trips,
// and no window exceeds what the line can use (UET's NSCC begins and is bounded likewise).
// It must come before Base.
func (c *SRD) SetLine(bytesPerSec float64) { c.line = bytesPerSec }

// Packet implements Controller.
func (c *SRD) Packet(bytes int) { c.packet = bytes }

// lineRate is the UDP payload that the line carries in a second, at most.
func (c *SRD) lineRate() float64 {
	return lineShare * c.line * float64(c.packet) / float64(c.packet+wireOverhead)
}

// Base implements Controller.
func (c *SRD) Base(d time.Duration) {
	if c.round.from != 0 || (c.base != 0 && d >= c.base) {
		return
	}
	c.base = d
	c.window = max(InitialWindow, min(MaxWindow, firstProducts*c.line*c.near().Seconds()))
}

// fabric is how much a path is one of a fabric, by its length:
//
//	min(1, nearBase / base)^3
func (c *SRD) fabric() float64 {
	if c.base <= nearBase {
		return 1
	}
	x := float64(nearBase) / float64(c.base)
	return x * x * x
}

// tells is how much of what the network carries the host's line tells: all on a near path, and
// ever less of one that is longer; nothing where the line is not known.
func (c *SRD) tells() float64 {
	if c.line == 0 {
		return 0
	}
	return c.fabric()
}

// near is the base round trip as far as the line tells of it.
func (c *SRD) near() time.Duration { return time.Duration(c.tells() * float64(c.base)) }

// ceiling bounds the window: what overflowed lately, and on a fabric what the line carries while
// a packet goes around and waits. More would only wait. On longer ways paths differ by more.
func (c *SRD) ceiling() float64 {
	most := c.over.ceiling()
	if c.line > 0 {
		most = min(most, max(InitialWindow, c.line*(c.base+c.Target()).Seconds()/c.fabric()))
	}
	return most
}
