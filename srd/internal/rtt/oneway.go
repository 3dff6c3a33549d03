package rtt

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// OneWayWindow is the length of one window of the minimum filter for the one-way delay. The
// window is short, because clocks drift apart.
const OneWayWindow = 10 * time.Second

// OneWay measures the queueing delay of one direction. The one-way delay of a packet is
// the time from its sending to its arrival, by the clocks of the two hosts. The queueing
// delay is the one-way delay minus the least one-way delay of the last one to two
// windows. The clocks need not agree, because their difference cancels (RFC 6817, section
// 3.4). The zero value of OneWay is ready for use. A OneWay is not safe for concurrent
// use.
type OneWay struct {
	least [2]uint32 // minima of the present and the previous window, in microseconds modulo 2^32
	from  mono.Time // beginning of the present window; 0: there was no packet
}

// Known reports whether a packet arrived in the last two windows.
func (o *OneWay) Known(now mono.Time) bool {
	return o.from != 0 && now.Sub(o.from) <= 2*OneWayWindow
}

// Add returns the queueing delay of a packet from the stamps (mono.Time.Stamp) of its
// sending and arrival.
func (o *OneWay) Add(now mono.Time, sent, arrived uint32) time.Duration {
	offset := arrived - sent
	switch {
	case !o.Known(now):
		o.least, o.from = [2]uint32{offset, offset}, now
	case now.Sub(o.from) > OneWayWindow:
		o.least, o.from = [2]uint32{offset, o.least[0]}, now
	case int32(offset-o.least[0]) < 0:
		o.least[0] = offset
	}
	least := o.least[0]
	if int32(o.least[1]-least) < 0 {
		least = o.least[1]
	}
	// The least delay includes this packet, so the difference is negative only if a clock was
	// changed.
	return time.Duration(max(0, int32(offset-least))) * time.Microsecond
}
