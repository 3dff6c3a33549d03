package srd

import (
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// foreignWait is the time for which a peer that uses another protocol is not called
// again, equal to the longest time between two attempts.
const foreignWait = retryMost

// refuse ends a handshake with a peer that uses another protocol. If no earlier session
// works, the payloads that wait for a session are given up.
func (s *session) refuse(now mono.Time, r *handshake.Result) {
	s.self.release(r.LocalIndex)
	s.drop(DropProtocol)
	s.foreign = foreign{protocol: r.Hello.Protocol, until: now.Add(foreignWait)}
	s.shun(now)
}

// shun takes the place of a call to a peer that uses another protocol.
func (s *session) shun(now mono.Time) {
	if !s.ready(now) {
		s.recovery.voidAll()
	}
	if s.cfg.Keepalive > 0 {
		s.callAt = s.foreign.until
	}
}
