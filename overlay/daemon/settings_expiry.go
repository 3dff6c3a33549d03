package daemon

import (
	"cmp"
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

// expiredPeers are the peers that are left out, with the times that are over.
type expiredPeers map[config.Key]time.Time

// lapse notes that peers are left out, and tells it once of each end. mu is held.
func (s *settings) lapse(over []config.Peer) {
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
// was set back. After an error, which is told once, it is to be called again.
func (s *settings) compareTimes() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err, text := s.keepTimes(), ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != s.untimed {
		s.log.tell(events.ConfigRefused, "expires", "peers do not come and go with their times yet: %s", text)
	}
	s.untimed = text
	return err
}

func (s *settings) keepTimes() error {
	want := *s.running.cfg()
	if err := s.retime(&want); err != nil {
		return err
	}
	back := s.returning()
	if len(back) == 0 || s.takeBack(back...) == nil {
		return nil
	}
	// One that cannot come back keeps no other away.
	var failed error
	for _, p := range back {
		failed = cmp.Or(s.takeBack(p), failed)
	}
	return failed
}

// returning are the peers that were left out, whose time is not over: of the files, since one
// that was removed meanwhile stays away. mu is held.
func (s *settings) returning() (back []config.Peer) {
	now, left := s.clock(), expiredPeers{}
	runs := map[config.Key]bool{}
	for _, p := range s.running.cfg().Peers {
		runs[p.PublicKey] = true
	}
	for _, p := range s.file.Peers {
		at, was := s.expired[p.PublicKey]
		if !was || runs[p.PublicKey] {
			continue
		}
		left[p.PublicKey] = at
		if !p.Expired(now) {
			back = append(back, p)
		}
	}
	s.expired = left
	return back
}

// takeBack adds peers that were left out. Until that is done they count as left out.
func (s *settings) takeBack(back ...config.Peer) error {
	want := *s.running.cfg()
	want.Peers = append(want.Peers[:len(want.Peers):len(want.Peers)], back...)
	err := s.retime(&want)
	if err == nil {
		for _, p := range back {
			delete(s.expired, p.PublicKey)
		}
	}
	return err
}

// retime makes the server run with want. mu is held.
func (s *settings) retime(want *config.Config) error {
	diff, err := s.apply(want)
	switch {
	case err == errEnded:
		return nil
	case err != nil:
		return err
	}
	if len(diff) > 0 {
		s.compare()
		s.report(diff)
	}
	return nil
}
