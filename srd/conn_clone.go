package srd

import (
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Reincarnate makes the connection that of a new process, as New does. The policy and the
// control must know no path. It is for a copied process, as in a virtual machine restored
// from a snapshot. The original seals packets under our keys with the nonces that we would
// use next. So the keys are forgotten, and nothing more is sealed under them, not even the
// end of the session. Unacknowledged messages are given up, because chance decides which of
// the two processes gets their acknowledgements. Counters go on, and recorded handshakes
// are refused as before.
func (c *Conn) Reincarnate(now mono.Time, incarnation uint64, policy steer.Policy, control cc.Controller) {
	c.Close(now, NewTrain()) // the train is not sealed
	met, tuples, back, stats, replay := c.session.since != 0, c.paths.tuples, c.paths.back, c.env.stats, c.session.replay
	cfg := c.env.cfg
	cfg.Incarnation, cfg.Policy, cfg.Control = incarnation, policy, control
	*c = *New(cfg)
	introduce(c)
	c.env.stats, c.session.replay, c.env.clock = stats, replay, now
	c.paths.forget()
	c.restarted = true
	c.SetTuples(now, tuples[:back], tuples[back:]...)
	if met {
		c.Greet(now)
	}
}
