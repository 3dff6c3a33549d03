package health

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

const (
	// unconfirmedFor and unconfirmedMost: a peer on a bad line may fail to confirm a handshake, but
	// not several in a row over this time.
	unconfirmedFor  = 5 * time.Second
	unconfirmedMost = 3
	// faultFor is the time for which a fault of handshakes stays. A peer that gets no session calls
	// for some 90 s.
	faultFor = 3 * time.Minute
)

// Handshakes derives from a connection's counters why handshakes with a peer fail although its
// packets arrive. Only the owner of the peer's private key can cause a fault, or somebody on the
// path who answers in the place of the peer. The zero value of Handshakes is ready for use.
type Handshakes struct {
	made, bad, cipher uint64    // counters at the last call of Observe
	begun             mono.Time // start of the newest session
	count             uint64    // handshakes that this end answered since then, none of them confirmed
	first             mono.Time // the first of these

	at  mono.Time // time of the latest failure
	why string    // "": no handshake fails
}

// Observe updates the state from the session and the counters. If this end answers a handshake, its
// counter grows, and a session begins only if the peer confirms it.
func (h *Handshakes) Observe(now mono.Time, session srd.Session, t *srd.Stats) {
	made, bad, cipher := t.Handshakes-h.made, t.Drops[srd.DropHandshakeBad]-h.bad, t.Drops[srd.DropCipher]-h.cipher
	h.made, h.bad, h.cipher = t.Handshakes, t.Drops[srd.DropHandshakeBad], t.Drops[srd.DropCipher]
	switch {
	case session.Since != h.begun:
		h.begun, h.count, h.why = session.Since, 0, ""
	case bad > 0 && !session.Ready:
		h.at, h.why = now, "it answers handshakes, but its answers do not decrypt: the preshared_key differs at the two ends, or the answers are forged"
	case cipher > 0:
		h.at, h.why = now, "it calls, but the two ends have no cipher in common: compare transport.cipher"
	case made > 0:
		if h.count == 0 || now.Sub(h.at) > faultFor {
			h.count, h.first = 0, now
		}
		if h.count, h.at = h.count+made, now; h.count >= unconfirmedMost && now.Sub(h.first) >= unconfirmedFor {
			h.why = "it calls with its own key, but confirms no answer: the preshared_key differs at the two ends, or the answers of this host do not reach it"
		}
	}
}

// Why returns the reason why handshakes fail, or "".
func (h *Handshakes) Why(now mono.Time) string {
	if h.why == "" || now.Sub(h.at) > faultFor {
		return ""
	}
	return h.why
}

// hostsMost is the number of processes of a peer that are remembered.
const hostsMost = 4

// Twins detects that several processes use the private key of one peer. Each process has an
// incarnation number of its own. A process that was restarted never comes back, so an earlier number
// proves that both processes run. The zero value of Twins is ready for use.
type Twins struct {
	seen []host // the latest one last
	at   mono.Time
	why  string // "": there is one process
}

// host is a process of a peer.
type host struct {
	incarnation uint64
	from        netip.AddrPort // where it was heard last
}

// Observe takes the incarnation of the peer's session, and the address where the peer was heard.
func (w *Twins) Observe(now mono.Time, session srd.Session, from netip.AddrPort) {
	if !session.Ready || !from.IsValid() {
		return
	}
	h, last := host{session.Incarnation, from}, len(w.seen)-1
	if last >= 0 && w.seen[last].incarnation == h.incarnation {
		w.seen[last] = h
		return
	}
	for i, old := range w.seen {
		if old.incarnation == h.incarnation {
			w.at, w.why = now, fmt.Sprintf("two hosts or processes use its private key, and take the session from each other: %v and %v; give each its own key", from, w.seen[last].from)
			w.seen = append(w.seen[:i], w.seen[i+1:]...)
			break
		}
	}
	w.seen = append(w.seen[max(0, len(w.seen)-hostsMost+1):], h)
}

// Why returns the line about the processes, or "".
func (w *Twins) Why(now mono.Time) string {
	if w.why == "" || now.Sub(w.at) > faultFor {
		return ""
	}
	return w.why
}
