package health

import (
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// How often one reason is told of, as anybody can send any number: after a minute, then
// after twice as long each time, while it goes on.
const (
	refusalFirst = time.Minute
	refusalMost  = time.Hour
)

// refusalReasons are the reasons that are told of, and what was refused, for people.
var refusalReasons = map[srd.EndpointReason]string{
	srd.EndUnknownType: "packets that are none of this protocol's version",
	srd.EndBadMAC:      "handshakes for another host's public key",
	srd.EndBadInit:     "handshakes that do not decrypt",
	srd.EndUnknownPeer: "handshakes of a key that is no peer's",
	srd.EndUnderLoad:   "handshakes that were asked for a cookie, as there are very many",
	srd.EndBudget:      "handshakes for which there was no time, as there are very many",
}

// Refusals finds out what was refused since it was told last. The zero value has told
// nothing.
type Refusals struct {
	told [srd.NumEndpointReasons]uint64
	at   [srd.NumEndpointReasons]mono.Time // 0: never
	wait [srd.NumEndpointReasons]time.Duration
}

// Refused is how many packets were refused for a reason.
type Refused struct {
	Reason srd.EndpointReason
	Count  uint64
	What   string
}

// Look takes the counters of now. The first of each reason is told at once, and what
// follows at intervals.
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
