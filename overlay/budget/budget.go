// Package budget divides the memory of a process between its queues. Each peer has two: frames
// that wait to be sent, and received frames that wait for earlier ones. A queue that holds more
// than Little is a user. All users have the same share of the budget. A queue above its share
// drops its own frames, never those of another. A single user may have the whole budget, so idle
// peers do not slow a busy one down.
package budget

import "sync/atomic"

const (
	// Most is the budget where memory is plenty: eight peers may hold all that one may,
	// order.DefaultHeldBytes.
	Most = 256 << 20
	// The budget is one Part-th of the process's soft limit. Garbage takes as much again before it
	// is collected. The rest is for memory with bounds of its own: tables, shelves, keys.
	Part = 4
	// Little bytes may be held by any queue without being a user: everyday reordering, or one
	// flow of a slow link. All 4,096 peers together then hold no more than Most. A smaller budget
	// has a smaller bound, its littlePart-th part: such hosts have fewer busy peers.
	Little     = 64 << 10
	littlePart = 512
	// leastLittle is the smallest bound with which a peer works: two packets of 1,500 bytes in
	// their buffers.
	leastLittle = 4 << 10
	// Much is how many bytes a user must have held for a collection of garbage to pay off. In a
	// small budget it is a muchPart-th. A single flow stays below: it has a megabyte waiting, at
	// its cost in buffers, and empties its queue after each burst.
	Much     = 3 << 20
	muchPart = 4
)

// Budget is safe for concurrent use. The zero value, and nil, bound nothing.
type Budget struct {
	bytes  int
	little int      // what anybody may hold
	much   int      // what is worth a collection
	_      [64]byte // all threads read what is before, for each frame; users write what follows
	users  atomic.Int64
	freed  atomic.Int64
}

// New returns a budget of so many bytes.
func New(bytes int) *Budget {
	return &Budget{bytes: bytes, little: min(max(bytes/littlePart, leastLittle), Little), much: min(Much, bytes/muchPart)}
}

// Bytes is how many there are.
func (b *Budget) Bytes() int { return b.bytes }

// Of is how much of a soft limit of memory is shared out.
func Of(limit int64) int { return int(min(limit/Part, Most)) }

// User is one who may hold memory. It is not safe for concurrent use; the zero value is ready.
type User struct {
	of    *Budget
	using bool
	most  int // that it held while it was one
}

// User returns a new user, who holds nothing.
func (b *Budget) User() User { return User{of: b} }

// Hold says how much the user holds now, and returns how much of most it may. It counts as a
// user from a little on until it holds nothing, so that it does not come and go.
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
		return most // it has a little
	}
	u.most = max(u.most, bytes)
	return min(most, max(u.of.bytes/int(u.of.users.Load()), u.of.little))
}

// Freed returns how many bytes users held at most who held much and have stopped since this was
// asked last: that much may be garbage now, or lie in pools, where it counts as used.
func (b *Budget) Freed() int { return int(b.freed.Swap(0)) }

// Users returns how many hold more than a little.
func (b *Budget) Users() int { return int(b.users.Load()) }
