package srd

import (
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Reincarnate makes the connection that of a new process, as New does, with a policy
// and a congestion control that know of no path. This one is a copy, as of a virtual machine that was restored from a snapshot: what the other one seals
// under our keys has the nonces that we would use. So the keys are forgotten and nothing
// is sealed under them any more, not even that the session ends. What waits for an
// acknowledgement is given up, since which of the two has it is left to chance.
// Counters go on, and recorded handshakes are refused as before.
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
