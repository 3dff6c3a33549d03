package config

import (
	"slices"
	"time"
)

// Current returns c without the peers whose time is over, and those.
func Current(c *Config, now time.Time) (rest *Config, over []Peer) {
	if !slices.ContainsFunc(c.Peers, func(p Peer) bool { return p.Expired(now) }) {
		return c, nil
	}
	all := *c
	all.Peers = make([]Peer, 0, len(c.Peers))
	for _, p := range c.Peers {
		if p.Expired(now) {
			over = append(over, p)
		} else {
			all.Peers = append(all.Peers, p)
		}
	}
	return &all, over
}

// Expired reports whether the peer's time is over.
func (p *Peer) Expired(now time.Time) bool { return !p.Expires.IsZero() && !now.Before(p.Expires) }

// NextExpiry is when the time of the next peer is over; zero: of none.
func (c *Config) NextExpiry() (at time.Time) {
	for i := range c.Peers {
		if e := c.Peers[i].Expires; !e.IsZero() && (at.IsZero() || e.Before(at)) {
			at = e
		}
	}
	return at
}

// localTimes are what the decoder calls the zones of times that have none.
var localTimes = []string{"datetime-local", "date-local", "time-local"}

// time reads a moment, of TOML's own kind or in quotes; both have a zone.
func (s section) time(key string) time.Time {
	const want = "want a time with its zone, such as 2026-12-01T00:00:00Z"
	switch v := s.vals[key].(type) {
	case nil:
	case time.Time:
		if !slices.Contains(localTimes, v.Location().String()) && !v.IsZero() {
			return v.UTC()
		}
		s.fail(key, "%s", want)
	case string:
		t, err := time.Parse(time.RFC3339, v)
		if err == nil && !t.IsZero() { // that one stands for never
			return t.UTC()
		}
		s.fail(key, "%s: %s", quoted(v), want)
	default:
		s.fail(key, "%s, not %s", want, kind(v))
	}
	return time.Time{}
}
