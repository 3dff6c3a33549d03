package daemon

import (
	"fmt"

	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

// reincarnate immediately deletes the session keys of all peers, so that new handshakes follow.
func (s *settings) reincarnate() {
	s.log.tell(events.MachineCopied, "", "this machine is a copy, or was restored from one: all sessions start anew")
	s.mu.Lock()
	defer s.mu.Unlock()
	peers := s.running.peers()
	policies := make([]steer.Policy, len(peers))
	for i, p := range peers {
		var name string
		p.link.Do(func(mono.Time, *srd.Conn) { name = p.steering.name })
		policy, err := s.running.policy(name)
		if err != nil {
			panic(fmt.Sprintf("daemon: policy %q in use: %v", name, err))
		}
		policies[i] = policy
	}
	for i, p := range peers {
		p.link.Do(func(now mono.Time, c *srd.Conn) {
			p.steering.control, p.steering.policy = cc.New(0), policies[i]
			c.Reincarnate(now, random64(), policies[i], p.steering.control)
			if c.Restarted() {
				p.forget(now)
			}
		})
	}
	for _, p := range peers {
		p.link.Kick()
	}
}
