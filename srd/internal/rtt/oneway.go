package rtt

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// WayWindow is how long the least time of one direction counts. Clocks drift apart, so it is
// short.
const WayWindow = 10 * time.Second

// OneWay measures the queueing delay of one direction. It takes the time from a packet's sending
// to its arrival, by the clocks of the two hosts. From this it subtracts the least such time of
// the last one to two windows. The clocks need not agree: their difference cancels (RFC 6817,
// section 3.4). OneWay is useful at its zero value, and not safe for concurrent use.
type OneWay struct {
	least [2]uint32 // of the present and the previous window, in microseconds modulo 2^32
	from  mono.Time // begin of the present window; 0: there was no packet
}

// Known reports whether a packet came in the last two windows.
func (o *OneWay) Known(now mono.Time) bool {
	return o.from != 0 && now.Sub(o.from) <= 2*WayWindow
}

// Add handles a packet with these stamps (mono.Time.Stamp) of its sending and arrival. It returns
// the packet's queueing delay.
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
	// The least includes this packet, so the difference is positive unless a clock was set.
	return time.Duration(max(0, int32(offset-least))) * time.Microsecond
}
