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
	// maxReplies bounds the number of owed responses: one for each path and one for each
	// candidate. A newer challenge on a path replaces the older one.
	maxReplies = steer.MaxPaths + candidate.Most
	// answersMost bounds the responses on a path in one smoothed round trip, or in
	// answersLeast if the round trip is shorter. An honest peer challenges a path once in that
	// path's round trip. The limit is higher, because the round trip of a single path may be
	// shorter than the smoothed one of all paths.
	answersMost  = 8
	answersLeast = time.Millisecond
)

// challenged queues the response to the first challenge in packet p.
func (ps *paths) challenged(p *Packet, secret wire.Secret) {
	on := ps.source(p.Slot).path
	o := owed{path: on, tuple: p.Tuple, secret: secret, size: p.Size}
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

// mayAnswer counts a response on p, and reports whether the limit of this round trip
// allows the response.
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

// nextReply sends the first owed response that may be sent.
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
			ps.sendSecret(t, r.path, wire.KindResponse, r.secret, 0)
			return true
		}
	}
	return false
}

// sendSecret builds a train with a challenge or a response on p, of `size` bytes at
// least.
func (ps *paths) sendSecret(t *Train, p *path, k wire.Kind, secret wire.Secret, size int) {
	ps.flight.single(t, p, ledger.Silent, size, func(b []byte) []byte { return wire.AppendSecret(b, k, &secret) })
}

// aside returns a proven path for a response to a candidate's challenge. If the response
// must be sent to the candidate, aside() returns nil. The challenge may be an observer's
// copy that overtook the original (RFC 9000 section 9.3.3). A response to the source of the
// copy never reaches the peer, so an observer whose copies always arrive first could
// prevent the peer from validating this end's address. A response is valid on any path (RFC
// 9000 section 8.2.3). If the peer repeats a secret, the earlier responses to it were lost,
// so every second response to it is sent on a proven path. The peer takes no round-trip
// sample from that response, because it measures only challenges that were sent once.
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

// reply sends an owed response on a tuple without a path, if the credit of its address is
// sufficient. The same packet contains this end's challenge to the candidate. If it is a
// full packet, the peer's response proves that full packets pass. If the table has no room
// for the candidate, the peer gets no response and repeats its challenge. With a response
// the peer would use a path that is not open at this end.
func (ps *paths) reply(now mono.Time, t *Train, r *owed) bool {
	k := ps.candidates.Find(r.tuple)
	if k == nil {
		return false // heardOn has counted this drop
	}
	if p := ps.aside(k, r.secret); p != nil {
		ps.sendSecret(t, p, wire.KindResponse, r.secret, 0)
		return true
	}
	least := keepaliveSize
	if !k.Proven() {
		least += wire.SecretFrameLen
	}
	size := max(least, min(r.size, ps.cfg.MTU(r.tuple), MaxPacket))
	if !ps.pay(r.tuple.Remote.Addr(), size) {
		return false
	}
	ps.packetTo(t, r.tuple, size, func(b []byte) []byte {
		b = wire.AppendSecret(b, wire.KindResponse, &r.secret)
		if k.Proven() {
			return b
		}
		b = ps.challenge(b, k)
		k.Asked(now, size, ps.candidateWait(0))
		return b
	})
	return true
}
