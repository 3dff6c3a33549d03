package daemon

import (
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
)

var _ control.Handler = (*server)(nil)

// Change implements control.Handler.
func (s *server) Change(c control.Change) ([]control.Difference, error) { return s.settings.change(c) }

// Config implements control.Handler.
func (s *server) Config() string { return string(config.Format(s.running.cfg())) }

// Show implements control.Handler.
func (s *server) Show() control.Status { return s.status.show() }

// Events implements control.EventSource.
func (s *server) Events(after uint64) control.Happened { return s.log.after(after) }

// Down implements control.Handler.
func (s *server) Down() {
	s.restart.final.Store(true)
	s.stop()
}

// Restarting implements control.Handler.
func (s *server) Restarting() { s.restart.announce() }
