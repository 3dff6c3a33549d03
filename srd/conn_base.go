package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/rtt"
	"github.com/srdtun/srdtun/srd/mono"
)

// floors are the least round trips over all near paths, of packets that are about full
// and of any.
//
// The base of one path is what a few samples of it happened to be: a challenge of 1,200
// bytes on one, a size probe on another, which switches that store and forward delay by
// more, and on a third what waited behind others' challenges. Taken over all paths, and
// for packets of one size, the least is the same for all who share a network.
type floors struct {
	full, any rtt.Floor
	size      int // bytes of UDP payload of the largest packets that full is of
}

// fullPart: a packet that is no more than an eighth shorter than a full one takes as
// long, to what matters.
const fullPart = 8

// add takes a round trip of a packet of size bytes.
func (f *floors) add(now mono.Time, sample time.Duration, size int) {
	f.any.Add(now, sample)
	if f.size < size-size/fullPart {
		f.full = rtt.Floor{}
	}
	f.size = max(f.size, size)
	if f.fills(size) {
		f.full.Add(now, sample)
	}
}

// of returns the least round trip of packets of that size; 0: unknown.
func (f *floors) of(size int) time.Duration {
	if f.fills(size) {
		return f.full.Value()
	}
	return f.any.Value()
}

func (f *floors) fills(size int) bool { return size >= f.size-f.size/fullPart }
