package msg

import "github.com/srdtun/srdtun/srd/ep"

// Stats are the counters of an endpoint.
type Stats struct {
	Below      ep.Stats // of the endpoint below
	Posted     int      // receives that no message has matched
	Unexpected int      // messages that no receive has taken
	Offers     int      // long sends whose bytes are not read
	Bad        uint64   // frames that no honest peer sends
}

// Stats returns the endpoint's counters.
func (m *Endpoint) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Stats{Below: m.e.Stats(), Posted: len(m.match.posted), Unexpected: int(m.unexpected.Load()), Offers: len(m.offers), Bad: m.bad.Load()}
}
