package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// hurryAfter is the time between the arrival of a cookie and the attempt that uses it.
// Within this time the response to the earlier attempt may arrive on another path.
const hurryAfter = 25 * time.Millisecond

// attempt is an initiation that this end has sent, and to which a response may still
// arrive.
type attempt struct {
	hs    *handshake.Attempt
	index uint32  // reserved for the response
	on    []Tuple // where it was sent
	begun mono.Time
	end   mono.Time // when it expires
}

// called reports whether the attempt was sent to the tuple `from`.
func (a *attempt) called(from Tuple) bool { return anyReaches(a.on, from) }

// anyReaches reports whether a packet on the tuple `from` may be an answer to a packet on
// a tuple in v.
func anyReaches(v []Tuple, from Tuple) bool {
	for i := range v {
		if v[i].reaches(from) {
			return true
		}
	}
	return false
}

// reaches reports whether a packet on u may be an answer to a packet on t. If t has no
// source address, the kernel chose one, so every source address fits.
func (t *Tuple) reaches(u Tuple) bool {
	return t.Sock == u.Sock && t.Remote == u.Remote && (t.Local == u.Local || !t.Local.IsValid())
}

// calls holds the unfinished attempts of a handshake with one peer. A regular attempt is
// sent on several paths. In addition, a hurried attempt may be sent on the tuple of a
// received cookie. An attempt ends when its time is over, or when one of the two attempts
// gets a valid response. A sender without the peer's private key cannot end an attempt. A
// cookie is only stored, and causes at most one hurried attempt for each regular attempt.
// The type calls is not safe for concurrent use.
type calls struct {
	self    self     // owner of the receiver indices
	regular *attempt // nil: none
	hurried *attempt // nil: none

	hurry mono.Time // when the hurried attempt is sent
	to    *Tuple    // its destination; nil: none is planned
	spent bool      // the one hurried attempt of the regular attempt was planned

	tries    int  // regular attempts since the first
	greeting bool // begun without a message to send, and there is still none
	turn     int  // rotates the tuples that initiations go out on
}

// busy reports whether this end has an unfinished handshake.
func (v *calls) busy() bool { return v.regular != nil }

// begin stores a regular attempt. The previous regular attempt has ended.
func (v *calls) begin(a attempt) {
	v.drop(&v.regular)
	v.regular, v.spent, v.to = &a, false, nil
	v.tries++
}

// follow stores the planned hurried attempt after it was sent.
func (v *calls) follow(a attempt) {
	v.drop(&v.hurried)
	v.hurried = &a
}

// plan plans a hurried attempt to the tuple `from`. A cookie for the attempt with the
// receiver index `index` came from that tuple.
func (v *calls) plan(now mono.Time, index uint32, from Tuple) {
	if v.regular == nil || v.regular.index != index {
		return
	}
	if !v.spent {
		v.spent, v.to = true, &from
		if v.hurry = now.Add(hurryAfter); v.hurried != nil {
			v.hurry = max(v.hurry, v.hurried.end)
		}
	}
	if v.to != nil {
		*v.to = from // the source of the newest cookie
	}
}

// hurries reports whether the planned hurried attempt is due, and returns its tuple. It
// reports each planned attempt once.
func (v *calls) hurries(now mono.Time) (to Tuple, ok bool) {
	if v.to == nil || now < v.hurry || v.regular == nil {
		return to, false
	}
	to, v.to = *v.to, nil
	return to, true
}

// find returns the attempt with the receiver index, or nil.
func (v *calls) find(index uint32) *attempt {
	for _, a := range []*attempt{v.regular, v.hurried} {
		if a != nil && a.index == index {
			return a
		}
	}
	return nil
}

// answered ends all attempts, because the response to the attempt `a` has arrived. The
// receiver index of `a` stays reserved, because the new session uses it.
func (v *calls) answered(a *attempt) {
	switch a {
	case v.regular:
		v.regular = nil
	case v.hurried:
		v.hurried = nil
	}
	v.abandon()
	v.tries = 0
}

// abandon ends all attempts.
func (v *calls) abandon() {
	v.drop(&v.regular)
	v.drop(&v.hurried)
	v.to = nil
}

// expire ends a hurried attempt whose time is over. The caller handles the end of a regular
// attempt.
func (v *calls) expire(now mono.Time) {
	if v.hurried != nil && now >= v.hurried.end {
		v.drop(&v.hurried)
	}
}

// deadline returns the time at which an attempt expires or the hurried attempt is due,
// whichever is first.
func (v *calls) deadline() mono.Time {
	at := mono.Never
	if v.regular != nil {
		at = v.regular.end
		if v.to != nil {
			at = at.Min(v.hurry)
		}
	}
	if v.hurried != nil {
		at = at.Min(v.hurried.end)
	}
	return at
}

// drop ends an attempt, if there is one.
func (v *calls) drop(a **attempt) {
	if *a != nil {
		v.self.release((*a).index)
		*a = nil
	}
}
