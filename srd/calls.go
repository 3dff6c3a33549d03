package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
)

// hurryAfter is how long a cookie is kept before an attempt goes out with it: the
// response to the attempt it answers may be right behind, on another path.
const hurryAfter = 25 * time.Millisecond

// attempt is an initiation of ours that may still be answered.
type attempt struct {
	hs    *handshake.Attempt
	index uint32  // reserved for the response
	on    []Tuple // where it was sent
	begun mono.Time
	end   mono.Time // then it is over
}

// called reports whether the attempt was sent to where from is.
func (a *attempt) called(from Tuple) bool { return anyReaches(a.on, from) }

// anyReaches reports whether what comes from a tuple may answer what was sent on one of v.
func anyReaches(v []Tuple, from Tuple) bool {
	for i := range v {
		if v[i].reaches(from) {
			return true
		}
	}
	return false
}

// reaches reports whether what comes from u may answer what was sent on t. The kernel
// chooses the source address where t has none.
func (t *Tuple) reaches(u Tuple) bool {
	return t.Sock == u.Sock && t.Remote == u.Remote && (t.Local == u.Local || !t.Local.IsValid())
}

// calls are the attempts of one peer's handshake that are under way: a regular one, sent
// on several paths, and beside it one that a cookie hurried, on the tuple that the cookie
// came from. Each lives until its own time is over or one of the two is answered. Nothing
// that anybody sends without keys ends one: a cookie is kept, and makes one hurried
// attempt for each regular one at most. It is not safe for concurrent use.
type calls struct {
	self    self     // whose indices they have
	regular *attempt // nil: none
	hurried *attempt // nil: none

	hurry mono.Time // when the hurried attempt goes out
	to    *Tuple    // and where; nil: none is planned
	spent bool      // the regular attempt has had its hurried one

	tries    int  // regular attempts since the first
	greeting bool // begun with nothing to send, and nothing has come since
	turn     int  // rotates the tuples that initiations go out on
}

// busy reports whether a handshake of ours is under way.
func (v *calls) busy() bool { return v.regular != nil }

// begin notes a regular attempt, after the one before is over.
func (v *calls) begin(a attempt) {
	v.drop(&v.regular)
	v.regular, v.spent, v.to = &a, false, nil
	v.tries++
}

// follow notes the hurried attempt that was planned.
func (v *calls) follow(a attempt) {
	v.drop(&v.hurried)
	v.hurried = &a
}

// plan notes that a cookie came from a tuple in answer to the attempt with an index.
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
		*v.to = from // whose cookie is the newest
	}
}

// hurries reports, once, that the hurried attempt is due, and where it goes.
func (v *calls) hurries(now mono.Time) (to Tuple, ok bool) {
	if v.to == nil || now < v.hurry || v.regular == nil {
		return to, false
	}
	to, v.to = *v.to, nil
	return to, true
}

// find returns the attempt that index was reserved for, or nil.
func (v *calls) find(index uint32) *attempt {
	for _, a := range []*attempt{v.regular, v.hurried} {
		if a != nil && a.index == index {
			return a
		}
	}
	return nil
}

// answered ends all attempts but a, whose index belongs to a session now.
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

// expire ends a hurried attempt whose time is over. What follows a regular one is the
// caller's to decide.
func (v *calls) expire(now mono.Time) {
	if v.hurried != nil && now >= v.hurried.end {
		v.drop(&v.hurried)
	}
}

// deadline returns when one of the attempts needs the caller.
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
