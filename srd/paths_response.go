package srd

import (
	"slices"
	"time"

	"github.com/srdtun/srdtun/srd/internal/candidate"
	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
)

const (
	// maxReplies bounds the responses owed: one for each path, as a newer challenge takes
	// the place of the one before, and for each candidate.
	maxReplies = steer.MaxPaths + candidate.Most
	// answersMost is how many responses a path sends in a round trip, of answersLeast at
	// least. An honest peer challenges a path once in its round trip, but that may be
	// shorter than the smoothed one of all.
	answersMost  = 8
	answersLeast = time.Millisecond
)

// challenged owes the peer a response where its challenge came, which is the first one in
// its packet.
func (ps *paths) challenged(p *Packet, secret wire.Secret) {
	on := ps.whence(p.Slot).path
	o := owed{path: on, tuple: p.Tuple, secret: secret, size: min(p.Size, BasePacket)}
	for i := range ps.replies {
		if r := &ps.replies[i]; r.path == on && (on != nil || r.tuple == o.tuple) {
			*r = o
			ps.drop(DropChallenge)
			return
		}
	}
	if len(ps.replies) == maxReplies || (on != nil && !ps.mayAnswer(on)) {
		ps.drop(DropChallenge)
		return
	}
	ps.replies = append(ps.replies, o)
}

// mayAnswer counts a response on p, and reports whether there were not too many in this
// round trip.
func (ps *paths) mayAnswer(p *path) bool {
	if now := ps.lastHeard; now.Sub(ps.roundAt) > max(ps.rtt.Smoothed(), answersLeast) {
		ps.round, ps.roundAt = ps.round+1, now
	}
	if p.round != ps.round {
		p.round, p.answers = ps.round, 0
	}
	if p.answers == answersMost {
		return false
	}
	p.answers++
	return true
}

// nextReply sends the first response owed that may be sent.
func (ps *paths) nextReply(now mono.Time, t *Train) bool {
	for len(ps.replies) > 0 {
		r := ps.replies[0]
		if ps.replies = ps.replies[1:]; len(ps.replies) == 0 {
			ps.replies = nil
		}
		switch {
		case r.path == nil:
			if ps.reply(now, t, &r) {
				return true
			}
		case r.path.state != PathFree && r.path.tuple == r.tuple:
			ps.respond(t, r.path, &r, r.size)
			return true
		}
	}
	return false
}

// respond builds a train of the response owed, of size bytes at least, on p.
func (ps *paths) respond(t *Train, p *path, r *owed, size int) {
	ps.flight.single(t, p, ledger.Silent, size, func(b []byte) []byte {
		return wire.AppendSecret(b, wire.KindResponse, &r.secret)
	})
}

// aside returns a path on which the peer has proven to be, for a response that is owed to
// a candidate, and nil if it is to go to the candidate. An observer's copy may have
// overtaken the challenge: then it asks for a way that works, but the answer to where the
// copy came from never arrives, and who overtakes each challenge would keep us from being
// found. (RFC 9000 section 9.3.3; a response counts whichever way it comes, section 8.2.3.)
// A secret that is asked for again has not arrived, so every second answer with it goes
// where it will. It measures nothing: only the first challenge of a candidate does, and a
// path asks for another secret each time.
func (ps *paths) aside(k *candidate.Candidate[Tuple], secret wire.Secret) *path {
	if k.Theirs != secret {
		k.Theirs, k.Asks = secret, 0
	}
	k.Asks++
	if k.Asks%2 != 0 {
		return nil
	}
	p := ps.last
	if p == nil || p.state != PathActive || !p.validated {
		i := slices.IndexFunc(ps.table, func(p *path) bool { return p.state == PathActive && p.validated })
		if i < 0 {
			return nil
		}
		p = ps.table[i]
	}
	if !ps.mayAnswer(p) {
		return nil
	}
	return p
}

// reply sends the response owed to where we have no path, if its address has paid for it.
// The challenge of a candidate goes with it: if the response is a full packet, it proves
// at once that such a one passes. Where there was no room for a candidate the peer gets no
// answer, so that it asks again: it would take the path for open at both ends.
func (ps *paths) reply(now mono.Time, t *Train, r *owed) bool {
	k := ps.candidates.Find(r.tuple)
	if k == nil {
		return false // heardOn has counted it
	}
	if p := ps.aside(k, r.secret); p != nil {
		ps.respond(t, p, r, 0)
		return true
	}
	least := keepaliveSize
	if !k.Proven() {
		least += wire.SecretFrameLen
	}
	size := max(r.size, least)
	if !ps.pay(r.tuple.Remote.Addr(), size) {
		return false
	}
	ps.stray(t, r.tuple, size, func(b []byte) []byte {
		b = wire.AppendSecret(b, wire.KindResponse, &r.secret)
		if k.Proven() {
			return b
		}
		b = ps.challenge(b, k)
		k.Asked(now, size, ps.firstWait())
		return b
	})
	return true
}
