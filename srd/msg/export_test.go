package msg

import "time"

// Probe asks the peers at once whether they still know the offers.
func (m *Endpoint) Probe() { m.probe() }

// ReadFor sets how long a read may take.
func (m *Endpoint) ReadFor(d time.Duration) { m.readFor = d }

// Kept returns how many messages of peers are kept.
func (m *Endpoint) Kept() int {
	s := m.Stats()
	return s.Unexpected + s.Held
}

// Answers returns how many answers wait for peers.
func (m *Endpoint) Answers() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, p := range m.pairs {
		n += len(p.controls)
	}
	return n
}
