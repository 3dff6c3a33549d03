package health

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// Refused packets are reported at intervals, because any host can send any number of them. The
// first interval is a minute, and each further interval is twice as long while packets are refused.
const (
	refusalFirst = time.Minute
	refusalMost  = time.Hour
)

var refusalReasons = map[srd.EndpointReason]string{
	srd.EndUnknownType: "packets of another protocol or another version",
	srd.EndBadMAC:      "handshakes for another host's public key",
	srd.EndBadInit:     "handshakes that do not decrypt",
	srd.EndUnknownPeer: "handshakes from a key that belongs to no peer",
	srd.EndUnderLoad:   "handshakes that must be repeated with a cookie, because too many arrive",
	srd.EndBudget:      "handshakes beyond the processor time reserved for them, because too many arrive",
}

// RefusalText describes the packets that are refused for a reason.
func RefusalText(r srd.EndpointReason) string { return refusalReasons[r] }

// Refusals counts refused packets since the last report, by reason. The zero value of Refusals
// is ready for use.
type Refusals struct {
	told [srd.NumEndpointReasons]uint64
	at   [srd.NumEndpointReasons]mono.Time // time of the last report; 0: never
	wait [srd.NumEndpointReasons]time.Duration
}

// Refused is the number of packets refused for a reason.
type Refused struct {
	Reason srd.EndpointReason
	Count  uint64
	What   string
}

// Look takes the current counters of refused packets, and returns the refusals to report. The first
// refusal for each reason is reported immediately, and later ones at intervals.
func (w *Refusals) Look(now mono.Time, drops [srd.NumEndpointReasons]uint64) (v []Refused) {
	for r := range srd.NumEndpointReasons {
		what, told := refusalReasons[r]
		n, quiet := drops[r]-w.told[r], now.Sub(w.at[r])
		if !told || n == 0 || w.at[r] != 0 && quiet < w.wait[r] {
			continue
		}
		if w.wait[r] = min(2*w.wait[r], refusalMost); w.at[r] == 0 || quiet > w.wait[r] {
			w.wait[r] = refusalFirst
		}
		v = append(v, Refused{r, n, what})
		w.told[r], w.at[r] = drops[r], now
	}
	return v
}
