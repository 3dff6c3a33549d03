package msg

import "github.com/srdtun/srdtun/srd/ep"

// Stats has the counters of an endpoint.
type Stats struct {
	Below      ep.Stats // counters of the underlying endpoint
	Posted     int      // posted receives that have not matched a message
	Unexpected int      // arrived messages that have not matched a receive
	Held       int      // ordered messages that wait for an earlier one
	Offers     int      // long sends whose bytes were not read yet
	Bad        uint64   // frames that no honest peer sends
}

// Stats returns the endpoint's counters.
func (m *Endpoint) Stats() Stats {
	m.mu.Lock()
	defer m.unlock()
	return Stats{Below: m.e.Stats(), Posted: len(m.match.posted), Unexpected: m.match.unexpected(), Held: m.held(), Offers: len(m.offers), Bad: m.bad}
}

// held returns the number of ordered messages that wait for an earlier one. The caller
// holds Endpoint.mu.
func (m *Endpoint) held() (n int) {
	for _, p := range m.pairs {
		n += len(p.in.held)
	}
	return n
}
