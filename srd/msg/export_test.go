package msg

import "time"

// Probe sends the probes for all offers now.
func (m *Endpoint) Probe() { m.probe() }

// ReadFor sets the time limit of a read.
func (m *Endpoint) ReadFor(d time.Duration) { m.readFor = d }

// Newest returns the number of the newest offer.
func (m *Endpoint) Newest() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.number
}

// Kept returns the number of stored messages of peers.
func (m *Endpoint) Kept() int {
	s := m.Stats()
	return s.Unexpected + s.Held
}

// Answers returns the number of control frames that wait to be sent.
func (m *Endpoint) Answers() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pairs {
		n += len(p.controls)
	}
	return n
}
