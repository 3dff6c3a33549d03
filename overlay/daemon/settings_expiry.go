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
type expiredPeers map[config.Key]time.Time

// unexpired returns want without the peers whose time is over. mu is held.
func (s *settings) unexpired(want *config.Config) *config.Config {
	rest, over := config.Current(want, s.clock())
	for i := range over {
		p := &over[i]
		if s.expired[p.PublicKey].Equal(p.Expires) {
			continue
		}
		if s.expired == nil {
			s.expired = expiredPeers{}
		}
		s.expired[p.PublicKey] = p.Expires
		s.log.tell(events.PeerExpired, p.PublicKey.String(), "peer %s: its time is over since %s: it is no peer any more", p.Title(), p.Expires.Format(time.RFC3339))
	}
	return rest
}

// expire removes peers when their time is over, until ctx ends.
func (s *settings) expire(ctx context.Context) {
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
		case <-s.expiryChanged:
		case <-look:
			failed = s.compareTimes() != nil
		}
	}
}

// noteExpiry tells expire that peers have changed.
func (s *settings) noteExpiry() {
	select {
	case s.expiryChanged <- struct{}{}:
	default: // it is going to look
	}
}

// untilExpiry is how long to wait before the clock is looked at; some is that it matters.
func (s *settings) untilExpiry() (wait time.Duration, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.running.cfg().NextExpiry()
	if at.IsZero() {
		return clockEvery, len(s.expired) > 0
	}
	return min(clockEvery, max(0, at.Sub(s.clock()))), true
}

// compareTimes leaves out whose time is over, and takes back whose is not, because the clock
// was set back.
func (s *settings) compareTimes() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, want := s.clock(), *s.running.cfg()
	runs := map[config.Key]bool{}
	for i := range want.Peers {
		runs[want.Peers[i].PublicKey] = true
	}
	still := expiredPeers{}
	var back []config.Peer
	for _, p := range s.file.Peers {
		at, was := s.expired[p.PublicKey]
		switch {
		case !was:
		case p.Expired(now):
			still[p.PublicKey] = at
		case !runs[p.PublicKey]:
			back = append(back, p)
		}
	}
	s.expired = still
	if err := s.retime(&want); err != nil || len(back) == 0 {
		return err
	}
	want = *s.running.cfg()
	want.Peers = append(want.Peers[:len(want.Peers):len(want.Peers)], back...)
	return s.retime(&want)
}

// retime makes the server run with want. mu is held.
func (s *settings) retime(want *config.Config) error {
	diff, err := s.apply(want)
	switch {
	case err == errEnded:
		return nil
	case err != nil:
		s.log.tell(events.ConfigRefused, "", "peers do not come and go with their times yet: %v", err)
		return err
	}
	if len(diff) > 0 {
		s.compare()
		s.report(diff)
	}
	return nil
}
