package srd

import (
	"example.org/tree/srd/internal/rtt"
	"example.org/tree/srd/mono"
)

type state uint8

const (
	active state = iota
	down
)

type path struct {
	state state
	rtt   rtt.Estimator
	since mono.Time
}

func (p *path) late(now mono.Time) bool {
	p.rtt.Sample(now)
	return p.state == active && now.Sub(p.since) > 3*later
}
