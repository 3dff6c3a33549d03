package srd

import (
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// foreignWait is how long a peer that speaks another protocol is not called again: as
// long as attempts are apart at most.
const foreignWait = retryMost

// refuse makes no session of a handshake with a peer that speaks another protocol. What
// waits for it is given up, unless there is a session: it is of the time before.
func (s *session) refuse(now mono.Time, r *handshake.Result) {
	s.self.release(r.LocalIndex)
	s.drop(DropProtocol)
	s.foreign = foreign{protocol: r.Hello.Protocol, until: now.Add(foreignWait)}
	s.shun(now)
}

// shun is what becomes of a call that is not made for that.
func (s *session) shun(now mono.Time) {
	if !s.ready(now) {
		s.recovery.voidAll()
	}
	if s.cfg.Keepalive > 0 {
		s.callAt = s.foreign.until
	}
}
