// Package budget divides the memory of a process between its queues. Each peer has two: frames
// that wait to be sent, and received frames that wait for earlier ones. A queue that holds more
// than Little is a user. All users have the same share of the budget. A queue above its share
// drops frames of its own, never frames of another queue. A single user may have the whole
// budget, so idle peers do not slow a busy peer down.
package budget

import "sync/atomic"

const (
	// Most is the budget where memory is plenty: eight peers may each hold the most that a
	// peer may hold, order.DefaultHeldBytes.
	Most = 256 << 20
	// The budget is one Part-th of the process's soft limit. Garbage takes as much again before it
	// is collected. The rest is for memory with bounds of its own: tables, shelves, keys.
	Part = 4
	// Little is the most bytes that a queue holds without being a user: everyday reordering,
	// or one flow of a slow link. So all 4,096 peers together hold no more than Most. A smaller
	// budget has a smaller bound, its littlePart-th part: such hosts have fewer busy peers.
	Little     = 64 << 10
	littlePart = 512
	// leastLittle is the smallest bound at which a peer works: two packets of 1,500 bytes in
	// their buffers.
	leastLittle = 4 << 10
	// Much bytes held by a user make a collection of garbage worth its cost. In a small budget
	// it is a muchPart-th. A single flow stays below: about a megabyte waits, buffers included,
	// and the queue empties after each burst.
	Much     = 3 << 20
	muchPart = 4
)

// Budget is safe for concurrent use. The zero value, and nil, bound nothing.
type Budget struct {
	bytes  int
	little int      // any queue may hold this
	much   int      // worth a collection
	_      [64]byte // all threads read the fields above for each frame; users write the fields below
	users  atomic.Int64
	freed  atomic.Int64
}

// New returns a budget of a size in bytes.
func New(bytes int) *Budget {
	return &Budget{bytes: bytes, little: min(max(bytes/littlePart, leastLittle), Little), much: min(Much, bytes/muchPart)}
}

// Bytes returns the size of the budget.
func (b *Budget) Bytes() int { return b.bytes }

// Of returns the budget for a process with this soft limit of memory, in bytes.
func Of(limit int64) int { return int(min(limit/Part, Most)) }

// User is a holder of memory. It is not safe for concurrent use. The zero value is ready,
// and unbounded.
type User struct {
	of    *Budget
	using bool
	most  int // the most bytes held since it became a user
}

// User returns a new holder, with no memory yet.
func (b *Budget) User() User { return User{of: b} }

// Hold notes the bytes held now, and returns how many of most u may hold. Above Little it
// becomes a user. It stays a user until it holds nothing, so users do not come and go.
func (u *User) Hold(bytes, most int) int {
	if u.of == nil || u.of.bytes == 0 {
		return most
	}
	switch {
	case !u.using && bytes > u.of.little:
		u.using = true
		u.of.users.Add(1)
	case u.using && bytes == 0:
		u.of.users.Add(-1)
		if u.most >= u.of.much {
			u.of.freed.Add(int64(u.most))
		}
		u.using, u.most = false, 0
	}
	if !u.using {
		return most // it holds a little
	}
	u.most = max(u.most, bytes)
	return min(most, max(u.of.bytes/int(u.of.users.Load()), u.of.little))
}

// Freed returns the peak bytes of users that held much and have stopped since the last call.
// This memory may be garbage now, or lie in pools, where it counts as used.
func (b *Budget) Freed() int { return int(b.freed.Swap(0)) }

// Users returns the number of users.
func (b *Budget) Users() int { return int(b.users.Load()) }
