package daemon

import (
	"context"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
)

// A peer may have a time at which it stops being one, by the host's clock: the file of a
// fleet's agent has that of the grant, so that it counts also when the agent is dead.

// clockEvery is how often the clock is looked at while peers have such a time: it may be set,
// forward or back, and stands still for timers while the machine sleeps.
const clockEvery = 10 * time.Second

// lapses are the peers that are left out, with the times that are over.
type lapses map[config.Key]time.Time

// current returns want without the peers whose time is over. changing is held.
func (s *server) current(want *config.Config) *config.Config {
	rest, over := config.Current(want, s.wall())
	for i := range over {
		p := &over[i]
		if s.lapsed[p.PublicKey].Equal(p.Expires) {
			continue
		}
		if s.lapsed == nil {
			s.lapsed = lapses{}
		}
		s.lapsed[p.PublicKey] = p.Expires
		s.tell(events.PeerExpired, p.PublicKey.String(), "peer %s: its time is over since %s: it is no peer any more", p.Title(), p.Expires.Format(time.RFC3339))
	}
	return rest
}

// expire removes peers when their time is over, until ctx ends.
func (s *server) expire(ctx context.Context) {
	failed := false
	for {
		var look <-chan time.Time
		if wait, some := s.untilExpiry(); failed {
			look = time.After(clockEvery)
		} else if some {
			look = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.timed:
		case <-look:
			failed = s.compareTimes() != nil
		}
	}
}

// watchTimes tells expire that peers have changed.
func (s *server) watchTimes() {
	select {
	case s.timed <- struct{}{}:
	default: // it is going to look
	}
}

// untilExpiry is how long to wait before the clock is looked at; some is that it matters.
func (s *server) untilExpiry() (wait time.Duration, some bool) {
	s.changing.Lock()
	defer s.changing.Unlock()
	at := s.cfg().NextExpiry()
	if at.IsZero() {
		return clockEvery, len(s.lapsed) > 0
	}
	return min(clockEvery, max(0, at.Sub(s.wall()))), true
}

// compareTimes leaves out whose time is over, and takes back whose is not, because the clock
// was set back.
func (s *server) compareTimes() error {
	s.changing.Lock()
	defer s.changing.Unlock()
	now, want := s.wall(), *s.cfg()
	runs := map[config.Key]bool{}
	for i := range want.Peers {
		runs[want.Peers[i].PublicKey] = true
	}
	still := lapses{}
	var back []config.Peer
	for _, p := range s.file.Peers {
		at, was := s.lapsed[p.PublicKey]
		switch {
		case !was:
		case p.Expired(now):
			still[p.PublicKey] = at
		case !runs[p.PublicKey]:
			back = append(back, p)
		}
	}
	s.lapsed = still
	if err := s.retime(&want); err != nil || len(back) == 0 {
		return err
	}
	want = *s.cfg()
	want.Peers = append(want.Peers[:len(want.Peers):len(want.Peers)], back...)
	return s.retime(&want)
}

// retime makes the server run with want. changing is held.
func (s *server) retime(want *config.Config) error {
	diff, err := s.become(want)
	switch {
	case err == errEnded:
		return nil
	case err != nil:
		s.tell(events.ConfigRefused, "", "peers do not come and go with their times yet: %v", err)
		return err
	}
	if len(diff) > 0 {
		s.compare()
		s.report(diff)
	}
	return nil
}
