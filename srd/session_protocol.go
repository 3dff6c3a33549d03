package srd

import (
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// foreignWait is how long a peer that speaks another protocol is not called again. It is the
// longest time between two attempts.
const foreignWait = retryMost

// refuse ends a handshake with a peer that speaks another protocol. There will be no session, so
// the payloads that wait for it are given up. An earlier session that still works keeps them.
func (s *session) refuse(now mono.Time, r *handshake.Result) {
	s.self.release(r.LocalIndex)
	s.drop(DropProtocol)
	s.foreign = foreign{protocol: r.Hello.Protocol, until: now.Add(foreignWait)}
	s.shun(now)
}

// shun replaces a call to a peer that speaks another protocol.
func (s *session) shun(now mono.Time) {
	if !s.ready(now) {
		s.recovery.voidAll()
	}
	if s.cfg.Keepalive > 0 {
		s.callAt = s.foreign.until
	}
}
