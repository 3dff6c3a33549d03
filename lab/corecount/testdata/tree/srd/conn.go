package srd

import (
	"time"

	"example.org/tree/srd/cc"
	"example.org/tree/srd/mono"
)

const notOfTheCore = 7

type Conn struct {
	*env
	keys     *keys
	paths    paths
	recovery recovery
	control  *cc.SRD
}

type keys struct{ sent int }

type env struct {
	clock mono.Time
	late  time.Duration
}

func (c *Conn) Next(now mono.Time) bool {
	at := now
	return c.recovery.due(at) || c.paths.due(now) || c.recovery.due(now)
}

func (c *Conn) Close() {}

func (e *env) tick() {}
