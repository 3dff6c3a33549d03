package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// A measurement sends one small challenge on each selected path, and measures the time
// until the response. The result is only displayed: a measurement changes no estimate and
// no state of a path.

// nextMeasure sends the next challenge of a measurement. A path that is not open yet is not
// measured: the peer answers only the newest challenge, so it would not answer the
// challenge that opens the path.
func (ps *paths) nextMeasure(now mono.Time, t *Train) bool {
	m := ps.measuring
	if m == nil {
		return false
	}
	for i := range m.probes {
		p := &m.probes[i]
		if p.at != 0 || p.path.state == PathCandidate || p.path.state == PathFree || p.path.tuple != p.tuple {
			continue // already challenged, or not open yet, or freed in the meantime
		}
		p.secret, p.at = ps.secret(), now
		ps.sendSecret(t, p.path, wire.KindChallenge, p.secret, keepaliveSize)
		return true
	}
	return false
}

// measured handles a response, and reports whether it belongs to a measurement.
func (ps *paths) measured(now mono.Time, secret *wire.Secret) bool {
	if ps.measuring == nil {
		return false
	}
	for i := range ps.measuring.probes {
		p := &ps.measuring.probes[i]
		if p.at == 0 || p.secret != *secret {
			continue
		}
		if p.rtt == 0 {
			p.rtt = max(now.Sub(p.at), time.Microsecond)
		}
		return true
	}
	return false
}
