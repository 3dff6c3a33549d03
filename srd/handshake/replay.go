package handshake

import "slices"

// tokensPerSecret bounds the memory of used tokens, per peer and cookie secret. A peer that
// renews keys every 120 s needs one or two tokens. If our responses are lost, a peer tries
// again twice a second for half a minute, which needs fewer than 64 tokens.
const tokensPerSecret = 64

// Replay decides for one peer whether a hello is new. The zero value of Replay has accepted no
// hello. A Replay belongs to the peer's static key and lives as long as the process.
type Replay struct {
	newest Timestamp

	secret uint64 // ID of the cookie secret of the tokens in `used`
	used   [][macSize]byte
}

// Accept reports whether h is new, and records a new hello. A hello with a timestamp is new if
// its timestamp is later than all accepted ones. A hello with a token needs tokenOK, the result
// of CheckToken. A hello with a token is new if the token was not used before under the same
// cookie secret.
func (r *Replay) Accept(h Hello, tokenOK bool) bool {
	if h.Token != ([macSize]byte{}) {
		return tokenOK && r.acceptToken(h)
	}
	if !h.Timestamp.After(r.newest) {
		return false
	}
	r.newest = h.Timestamp
	return true
}

// acceptToken reports whether the token of h was not used before, and records it. It first
// clears the tokens of an earlier secret, because CheckToken accepts none of them any more.
func (r *Replay) acceptToken(h Hello) bool {
	if h.secret != r.secret {
		r.secret, r.used = h.secret, r.used[:0]
	}
	if len(r.used) >= tokensPerSecret || slices.Contains(r.used, h.Token) {
		return false
	}
	r.used = append(r.used, h.Token)
	return true
}

// NeedsCookie reports whether the sender of h, which Accept has just refused, should get a
// CookieReply, because it may have a wrong clock or an old cookie. For a copy of an accepted
// hello the result is false. When one initiation arrives over many paths, all packets except
// the first are such copies.
func (r *Replay) NeedsCookie(h Hello) bool {
	if h.Token != ([macSize]byte{}) {
		return !slices.Contains(r.used, h.Token)
	}
	return h.Timestamp != r.newest
}
