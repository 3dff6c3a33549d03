package handshake

import "slices"

// tokensPerSecret bounds the memory of used tokens, per peer and cookie secret.
// A peer that rekeys every 120 s needs one or two; 64 leave room for one that
// retries twice a second for half a minute because our responses get lost.
const tokensPerSecret = 64

// Replay decides for one peer whether a hello is new. The zero value has seen
// nothing. It belongs to the peer's static key and lives as long as the process.
type Replay struct {
	newest Timestamp

	secret uint64 // the cookie secret that used belongs to
	used   [][macSize]byte
}

// Accept reports whether h is new, and remembers it if it is. A hello with a
// timestamp is new when the timestamp is later than all accepted before. A
// hello with a token is new when tokenOK, which is the result of CheckToken for
// it, and the token was not used before under the same cookie secret.
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

// acceptToken forgets the tokens of an earlier secret, since CheckToken lets
// none of them pass any more.
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

// NeedsCookie reports whether h, which Accept has just refused, is worth a
// CookieReply: its sender may be a peer with a wrong clock or an old cookie. It
// is not when h is a copy of a hello that was accepted, as all but the first
// are when one initiation comes over many paths.
func (r *Replay) NeedsCookie(h Hello) bool {
	if h.Token != ([macSize]byte{}) {
		return !slices.Contains(r.used, h.Token)
	}
	return h.Timestamp != r.newest
}
