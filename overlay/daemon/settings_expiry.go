package daemon

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
)

// A peer's configuration may contain a time at which the peer expires. The agent of a fleet
// writes the expiry of a grant into the peer's file, so the grant ends even if the agent is
// dead.

// clockEvery is the interval at which the clock is checked while peers have an expiry time. The
// clock may be set forward or back, and timers stop while the machine sleeps.
const clockEvery = 10 * time.Second

// expiredPeers contains the expired peers, which the running configuration leaves out.
type expiredPeers map[config.Key]expiredPeer

type expiredPeer struct {
	name  string
	at    time.Time // time of the expiry
	filed bool      // a file contained the peer when it expired
}

// unfiledMost bounds the number of expired peers that are in no file, because commands may add any
// number of peers.
const unfiledMost = 64

// lapse records the expired peers, and reports each expiry once. The caller must hold mu.
func (s *settings) lapse(over []config.Peer) {
	var filed map[config.Key]bool
	for i := range over {
		p := &over[i]
		if s.expired[p.PublicKey].at.Equal(p.Expires) {
			continue
		}
		if s.expired == nil {
			s.expired = expiredPeers{}
		}
		if filed == nil {
			filed = keysOf(s.file)
		}
		s.expired[p.PublicKey] = expiredPeer{p.Name, p.Expires, filed[p.PublicKey]}
		s.log.teller(p.Guest)(events.PeerExpired, p.PublicKey.String(), "peer %s expired at %s: it is not a peer any more", p.Title(), p.Expires.Format(time.RFC3339))
	}
}

func keysOf(c *config.Config) map[config.Key]bool {
	keys := make(map[config.Key]bool, len(c.Peers))
	for i := range c.Peers {
		keys[c.Peers[i].PublicKey] = true
	}
	return keys
}

// expiredNow returns the expired peers for a status, most recently expired first.
func (s *settings) expiredNow() (v []control.Expired) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.expired) == 0 {
		return nil
	}
	runs, filed := keysOf(s.running.cfg()), keysOf(s.file)
	for key, e := range s.expired {
		if !runs[key] && (!e.filed || filed[key]) {
			v = append(v, control.Expired{Name: e.name, PublicKey: key.String(), ExpiredUnixS: e.at.Unix()})
		}
	}
	slices.SortFunc(v, func(a, b control.Expired) int {
		return cmp.Or(cmp.Compare(b.ExpiredUnixS, a.ExpiredUnixS), cmp.Compare(a.PublicKey, b.PublicKey))
	})
	return v
}

// expire removes peers when they expire, until ctx ends.
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

// noteExpiry wakes the method expire() after peers have changed.
func (s *settings) noteExpiry() {
	select {
	case s.expiryChanged <- struct{}{}:
	default: // the method expire() is already due to check
	}
}

// untilExpiry returns the time to wait before the next clock check. If no peer has an expiry
// time, the result `some` is false.
func (s *settings) untilExpiry() (wait time.Duration, some bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.running.cfg().NextExpiry()
	if at.IsZero() {
		return clockEvery, len(s.expired) > 0
	}
	return min(clockEvery, max(0, at.Sub(s.clock()))), true
}

// compareTimes removes peers that have expired. It also restores peers that are no longer expired
// because the clock was set back. It reports a failure once, and the caller must call it again
// later.
func (s *settings) compareTimes() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err, text := s.keepTimes(), ""
	if err != nil {
		text = err.Error()
	}
	if text != "" && text != s.untimed {
		s.log.tell(events.ConfigRefused, "expires", "peers are not added and removed at their times yet: %s", text)
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
	// If one peer cannot be restored, the others must still be restored.
	var failed error
	for _, p := range back {
		failed = cmp.Or(s.takeBack(p), failed)
	}
	return failed
}

// returning returns the removed peers that are no longer expired, because the clock or their file
// has changed. The method returning() takes these peers from the files, so a peer that was deleted
// from the files is not restored. Expired peers that are in no file are not restored either. The
// caller must hold mu.
func (s *settings) returning() (back []config.Peer) {
	now, left := s.clock(), expiredPeers{}
	runs := keysOf(s.running.cfg())
	unfiled := 0
	for key, e := range s.expired {
		if !e.filed && !runs[key] && unfiled < unfiledMost {
			left[key] = e
			unfiled++
		}
	}
	for _, p := range s.file.Peers {
		e, was := s.expired[p.PublicKey]
		if !was || runs[p.PublicKey] {
			continue
		}
		at := e.at
		left[p.PublicKey] = e
		switch {
		case p.Expires.After(at) && !p.Expired(now):
			back = append(back, p)
		case at.After(now):
			p.Expires = at
			back = append(back, p)
		}
	}
	s.expired = left
	return back
}

// withExpired returns the running configuration, with some expired peers of the files added: those
// that the parameter `settings` names. So a command can restore a peer by setting a later expiry
// time. The caller must hold mu.
func (s *settings) withExpired(settings []config.Setting) *config.Config {
	c := s.running.cfg()
	if len(s.expired) == 0 {
		return c
	}
	runs, all := keysOf(c), *c
	for _, p := range s.file.Peers {
		e, was := s.expired[p.PublicKey]
		if !was || runs[p.PublicKey] {
			continue
		}
		p.Expires = e.at
		if p.Named(settings) {
			all.Peers = append(all.Peers[:len(all.Peers):len(all.Peers)], p)
		}
	}
	return &all
}

// takeBack restores peers that were removed because they expired. If takeBack fails, the peers
// stay removed.
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

// retime makes `want` the running configuration, and reports the differences. The caller must
// hold mu.
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
