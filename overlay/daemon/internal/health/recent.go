package health

import (
	"time"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// recentEvery is the interval between two readings of the counters. There is a counter for each
// limit, with the total time for which the limit delayed sending. An interval of a second is long
// enough to compute a share in per cent, and short enough to show the current state.
const recentEvery = time.Second

// Recent keeps two readings of the counters of how long each limit delayed sending. The zero value
// of Recent is ready for use.
type Recent struct {
	at     [2]mono.Time // times of the older and the newer reading; 0: none
	waited [2][srd.NumLimits]time.Duration
}

// Due reports whether the next reading is due.
func (r *Recent) Due(now mono.Time) bool { return r.at[1] == 0 || now.Sub(r.at[1]) >= recentEvery }

// Observe stores a reading if one is due.
func (r *Recent) Observe(now mono.Time, waits [srd.NumLimits]time.Duration) {
	if r.Due(now) {
		r.at = [2]mono.Time{r.at[1], now}
		r.waited = [2][srd.NumLimits]time.Duration{r.waited[1], waits}
	}
}

// Tell returns how long each limit has delayed sending since the older reading.
func (r *Recent) Tell(now mono.Time, waits [srd.NumLimits]time.Duration) control.Recent {
	from := 0
	if r.at[from] == 0 {
		from = 1
	}
	v := control.Recent{WaitedUs: map[string]uint64{}}
	if r.at[from] == 0 {
		return v
	}
	v.OverUs = now.Sub(r.at[from]).Microseconds()
	for l, d := range waits {
		v.WaitedUs[srd.Limit(l).String()] = uint64((d - r.waited[from][l]).Microseconds())
	}
	return v
}
