package srd

import (
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// Reincarnate resets the connection to the state that New returns. The policy and the
// control must be new, without the state of a path. Reincarnate is for a copied process, as
// in a virtual machine restored from a snapshot. The original process seals packets with
// the same keys and nonces. So the keys are deleted, and no packet is sealed under them,
// not even a CLOSE. Unacknowledged messages are given up, because their acknowledgements
// may arrive at the other process. The counters continue, and recorded handshakes are still
// refused.
func (c *Conn) Reincarnate(now mono.Time, incarnation uint64, policy steer.Policy, control cc.Controller) {
	c.Close(now, NewTrain()) // the train is not sealed
	met, tuples, firstLearned, stats, replay := c.session.since != 0, c.paths.tuples, c.paths.firstLearned, c.env.stats, c.session.replay
	cfg := c.env.cfg
	cfg.Incarnation, cfg.Policy, cfg.Control = incarnation, policy, control
	*c = *New(cfg)
	introduce(c)
	c.env.stats, c.session.replay, c.env.clock = stats, replay, now
	c.paths.forget()
	c.restarted = true
	c.SetTuples(now, tuples[:firstLearned], tuples[firstLearned:]...)
	if met {
		c.Greet(now)
	}
}
