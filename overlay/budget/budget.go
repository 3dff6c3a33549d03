// Package budget shares the memory of a process out between those who fill it: what waits
// for order from each peer, and what waits to be sent to each. Who holds much is a user; all
// users have the same share, and one that has more than its share loses, never another.
// A user alone may have it all, so a busy peer beside idle ones is not slowed down.
package budget

import "sync/atomic"

const (
	// Most is the budget where memory is plenty: eight peers may hold all that one may,
	// order.DefaultHeldBytes.
	Most = 256 << 20
	// Part of the process's soft limit is shared out. Garbage until the next collection is as
	// much again, and the rest is for what has bounds of its own: tables, shelves, keys.
	Part = 4
	// Little is what anybody may hold without being a user, at most: everyday reordering, and
	// what one flow of a slow link has waiting. Of 4,096 peers, as many as there may be, that is
	// as much as Most. Of a smaller budget it is a part: where memory is that little, no more
	// peers are at work at once.
	Little     = 64 << 10
	littlePart = 512
	// leastLittle is below no peer could have a packet waiting: two of 1,500 bytes in their
	// buffers.
	leastLittle = 4 << 10
	// Much is what a user must have held for it to be worth a collection of garbage, or this
	// part of a small budget. One flow has less waiting to be sent (a megabyte, at its cost in
	// buffers), and comes and goes with each burst; a peer may hold more while it delivers
	// nothing (order's share).
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
