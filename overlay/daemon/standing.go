package daemon

import (
	"maps"
	"slices"
	"sync"
)

// standing has a line for each current condition, which `srdtun show` prints. Methods of standing
// are safe for concurrent use. The zero value of standing has no lines.
type standing struct {
	mu    sync.Mutex
	lines map[condition]string
}

// set stores the line of a condition, or deletes it if `line` is empty.
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

// forget deletes the lines of conditions that are no longer in c.
func (s *standing) forget(c conditions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.lines, func(k condition, _ string) bool { return !c[k] })
}

func (s *standing) all() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Values(s.lines))
}
