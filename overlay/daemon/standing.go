package daemon

import (
	"maps"
	"slices"
	"sync"
)

// standing holds the lines about conditions that hold now, for `show`. It is safe for concurrent
// use. The zero value has none.
type standing struct {
	mu    sync.Mutex
	lines map[condition]string
}

// set notes the line of a condition; "": it does not hold.
func (s *standing) set(k condition, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lines == nil {
		s.lines = map[condition]string{}
	}
	if line == "" {
		delete(s.lines, k)
	} else {
		s.lines[k] = line
	}
}

// forget drops the lines of conditions that are gone with their peer.
func (s *standing) forget(c conditions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.lines, func(k condition, _ string) bool { return !c[k] })
}

// all returns the lines, sorted.
func (s *standing) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Values(s.lines))
}
