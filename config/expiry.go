package config

import (
	"slices"
	"time"
)

// Current returns c without its expired peers, and the list of expired peers.
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

// Expired reports whether the peer has expired.
func (p *Peer) Expired(now time.Time) bool { return !p.Expires.IsZero() && !now.Before(p.Expires) }

// NextExpiry returns the time at which the next peer expires, or zero if no peer expires.
func (c *Config) NextExpiry() (at time.Time) {
	for i := range c.Peers {
		if e := c.Peers[i].Expires; !e.IsZero() && (at.IsZero() || e.Before(at)) {
			at = e
		}
	}
	return at
}

// localTimes are the zone names that the TOML decoder gives to times without a zone.
var localTimes = []string{"datetime-local", "date-local", "time-local"}

// never is the value of a time key that means "no time".
const never = "never"

// time parses a time with a zone, written as a TOML time or in quotes.
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
		if v == never {
			return time.Time{}
		}
		t, err := time.Parse(time.RFC3339, v)
		if err == nil && !t.IsZero() { // the zero time means never
			return t.UTC()
		}
		s.fail(key, "%s: %s", quoted(v), want)
	default:
		s.fail(key, "%s, not %s", want, kind(v))
	}
	return time.Time{}
}
