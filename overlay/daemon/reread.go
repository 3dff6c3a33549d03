package daemon

import (
	"context"
	"os"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
)

// rereadOn reads the file again whenever it is asked to, until ctx ends.
func (s *settings) rereadOn(ctx context.Context, again <-chan os.Signal, done func(error)) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-again:
		}
		diff, err := s.change(control.Change{How: control.HowReload})
		if err == nil && len(diff) == 0 {
			s.log.tell(events.ConfigChanged, "", "read again: nothing has changed")
		}
		if done != nil {
			done(err)
		}
	}
}
