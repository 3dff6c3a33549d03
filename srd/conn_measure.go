package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// A measurement sends one small challenge on each of some paths, and notes how long its
// response takes. It is for people who want to know: it changes no estimate and no state
// of a path, as challenges of its own do that.

// measurement is one that is under way or done.
type measurement struct {
	probes []measured
	next   int // of probes, the first that was not sent yet
}

type measured struct {
	path   *path
	tuple  Tuple
	slot   uint16
	secret wire.Secret
	at     mono.Time     // sent; 0: not
	rtt    time.Duration // 0: not answered
}

// Measured is what a measurement found out about one path.
type Measured struct {
	Slot  uint16
	Tuple Tuple
	RTT   time.Duration // 0: no answer
}

// Measure begins a measurement of those paths that pick wants, in place of the one before,
// and returns how many they are. Without a session it measures none. Next sends the
// challenges.
func (c *Conn) Measure(now mono.Time, pick func(*PathInfo) bool) int {
	c.measuring = nil
	if !c.session.ready(now) {
		return 0
	}
	m := &measurement{}
	paths := c.Paths()
	for i := range paths {
		if v := &paths[i]; pick(v) {
			m.probes = append(m.probes, measured{path: c.paths[v.Slot], tuple: v.Tuple, slot: v.Slot})
		}
	}
	if len(m.probes) > 0 {
		c.measuring = m
	}
	return len(m.probes)
}

// Measurement returns what the measurement has found out so far, and whether it goes on:
// something was not sent yet, or not answered.
func (c *Conn) Measurement() (v []Measured, open bool) {
	if c.measuring == nil {
		return nil, false
	}
	for i := range c.measuring.probes {
		p := &c.measuring.probes[i]
		v = append(v, Measured{Slot: p.slot, Tuple: p.tuple, RTT: p.rtt})
		open = open || p.rtt == 0
	}
	return v, open
}

// EndMeasure forgets the measurement. Responses that come later are of no use.
func (c *Conn) EndMeasure() { c.measuring = nil }

// nextMeasure sends the next challenge of a measurement.
func (c *Conn) nextMeasure(now mono.Time, t *Train) bool {
	m := c.measuring
	if m == nil {
		return false
	}
	for m.next < len(m.probes) {
		p := &m.probes[m.next]
		m.next++
		if p.path.state == PathFree || p.path.tuple != p.tuple {
			continue // it is gone meanwhile: no answer
		}
		p.secret, p.at = c.secret(), now
		c.single(now, t, p.path, ledger.Silent, keepaliveSize, func(b []byte) []byte {
			return wire.AppendSecret(b, wire.KindChallenge, &p.secret)
		})
		return true
	}
	return false
}

// measured takes a response, and reports whether it was one to a measurement.
func (c *Conn) measured(now mono.Time, secret *wire.Secret) bool {
	if c.measuring == nil {
		return false
	}
	for i := range c.measuring.probes {
		p := &c.measuring.probes[i]
		if p.at == 0 || p.secret != *secret {
			continue
		}
		if p.rtt == 0 {
			p.rtt = max(now.Sub(p.at), time.Microsecond)
		}
		return true
	}
	return false
}
