package rtt

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// BaseWindow is how long a minimum counts as the path's base. A route change
// that makes a path longer is believed after at most twice this.
const BaseWindow = 10 * time.Second

// Floor is a windowed minimum of times, useful at its zero value, not safe for
// concurrent use.
type Floor struct {
	least [2]time.Duration // of the previous and of the running window
	from  mono.Time        // when the running one began
}

// Add takes one sample, which must be positive.
func (f *Floor) Add(now mono.Time, sample time.Duration) {
	switch {
	case f.least[1] == 0:
		f.least, f.from = [2]time.Duration{sample, sample}, now
	case now.Sub(f.from) > BaseWindow:
		f.least, f.from = [2]time.Duration{f.least[1], sample}, now
	default:
		f.least[1] = min(f.least[1], sample)
	}
}

// Value returns the least sample of the last one to two windows; 0: there was none.
func (f *Floor) Value() time.Duration { return min(f.least[0], f.least[1]) }
