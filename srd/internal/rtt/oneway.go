package rtt

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// WayWindow is how long the least of one direction counts: clocks drift apart.
const WayWindow = 10 * time.Second

// OneWay tells how long packets wait in one direction alone: the time from their sending
// by one clock to their arrival by another, less the least of the last one to two windows.
// The clocks need not agree, as their difference is in both (RFC 6817, section 3.4). It is
// useful at its zero value, not safe for concurrent use.
type OneWay struct {
	least [2]uint32 // of the running and of the previous window, in microseconds modulo 2^32
	from  mono.Time // when this window began; 0: there was no packet
}

// Known reports whether the past says something: there was a packet in the last two windows.
func (o *OneWay) Known(now mono.Time) bool {
	return o.from != 0 && now.Sub(o.from) <= 2*WayWindow
}

// Add takes a packet that was sent and arrived by these stamps (mono.Time.Stamp), and
// returns how long it waited.
func (o *OneWay) Add(now mono.Time, sent, arrived uint32) time.Duration {
	offset := arrived - sent
	switch {
	case !o.Known(now):
		o.least, o.from = [2]uint32{offset, offset}, now
	case now.Sub(o.from) > WayWindow:
		o.least, o.from = [2]uint32{offset, o.least[0]}, now
	case int32(offset-o.least[0]) < 0:
		o.least[0] = offset
	}
	least := o.least[0]
	if int32(o.least[1]-least) < 0 {
		least = o.least[1]
	}
	// With a window's least in it the difference is positive, unless a clock was set.
	return time.Duration(max(0, int32(offset-least))) * time.Microsecond
}
