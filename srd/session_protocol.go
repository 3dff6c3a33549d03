package srd

import (
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// foreignWait is the time for which this end begins no further handshake with a peer that
// uses another protocol. It is equal to retryMost, the longest time between two attempts.
const foreignWait = retryMost

// refuse ends a handshake with a peer that uses another protocol. If no earlier session
// works, the payloads that wait for a session are given up.
func (s *session) refuse(now mono.Time, r *handshake.Result) {
	s.self.release(r.LocalIndex)
	s.drop(DropProtocol)
	s.foreign = foreign{protocol: r.Hello.Protocol, until: now.Add(foreignWait)}
	s.shun(now)
}

// shun is called in place of a handshake with a peer that uses another protocol.
// Without a session, shun() gives up the waiting payloads. With a keepalive, shun plans
// the next handshake.
func (s *session) shun(now mono.Time) {
	if !s.ready(now) {
		s.recovery.voidAll()
	}
	if s.cfg.Keepalive > 0 {
		s.callAt = s.foreign.until
	}
}
