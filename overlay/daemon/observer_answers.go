package daemon

import (
	"fmt"
	"net/netip"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/daemon/internal/health"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// strangeAnswers finds peers from whose endpoints only packets arrive that this end refuses. Then
// another program has the port there, or one end has a wrong public key of the other. Only the
// observer uses it. The zero value of strangeAnswers is ready for use.
type strangeAnswers struct {
	drops [srd.NumEndpointReasons]uint64
	at    [srd.NumEndpointReasons]mono.Time // latest growth of each counter; 0: never
}

// look stores a line for each peer with such packets in the last 30 s. The sender of a packet can
// forge its address, so the line counts only while the peer gives no answer.
func (w *strangeAnswers) look(now mono.Time, drops [srd.NumEndpointReasons]uint64, last func() [srd.NumEndpointReasons]srd.Refusal, peers []*peer) {
	from := map[netip.Addr]srd.EndpointReason{}
	var refused [srd.NumEndpointReasons]srd.Refusal
	for _, r := range []srd.EndpointReason{srd.EndUnknownType, srd.EndBadMAC, srd.EndBadInit} {
		if drops[r] != w.drops[r] {
			w.at[r] = now
		}
		if w.at[r] == 0 || now.Sub(w.at[r]) > refusedFor {
			continue
		}
		if len(from) == 0 {
			refused = last()
		}
		from[refused[r].From.Addr()] = r
	}
	w.drops = drops
	for _, p := range peers {
		line := strangeLine(p.cfg(), from)
		if before := p.health.strange.Load(); line == "" && before != nil {
			p.health.strange.Store(nil)
		} else if line != "" && (before == nil || *before != line) {
			p.health.strange.Store(&line)
		}
	}
}

// strangeLine returns the line about packets that arrive from an endpoint of a peer, or "".
func strangeLine(p *config.Peer, from map[netip.Addr]srd.EndpointReason) string {
	if len(from) == 0 {
		return ""
	}
	for _, e := range addressesIn(p) {
		if r, is := from[e.Addr()]; is {
			return fmt.Sprintf("it does not answer, but %s arrive from its address %v: which program has the port there, and does each end have the public key of the other?", health.RefusalText(r), e.Addr())
		}
	}
	return ""
}
