// Package budget divides the memory of a process between its queues. Each peer has two queues: one
// of frames to send, and one of received frames that wait for earlier frames. A queue of more than
// Little bytes counts as a user of the budget. All users have equal shares of the budget. A queue
// above its share drops its own frames, never frames of another queue. A single user may fill the
// whole budget, so idle peers do not slow a busy peer down.
package budget

import "sync/atomic"

const (
	// Most is the largest budget. The largest budget lets eight peers hold order.DefaultHeldBytes
	// each, the most that a peer may hold.
	Most = 256 << 20
	// The budget is the process's soft memory limit divided by Part. Uncollected garbage may take
	// as much memory as the budget itself. The rest of the memory is for tables and keys, which
	// have limits of their own.
	Part = 4
	// Little is the largest number of bytes that a queue holds without being a user of the budget.
	// Little bytes hold the frames of usual reordering, or of one flow over a slow link. Together
	// 4,096 peers that hold less than Little bytes each stay within Most bytes. In a small budget
	// the limit Little is budget/littlePart, because hosts with little memory have fewer busy
	// peers.
	Little     = 64 << 10
	littlePart = 512
	// leastLittle is the limit Little in the smallest budget: the buffers of two packets of 1,500
	// bytes.
	leastLittle = 4 << 10
	// If a queue held at least Much bytes and stops being a user, a garbage collection is worth its
	// cost. In a small budget the limit Much is budget/muchPart. A single flow stays below Much: it
	// queues about a megabyte, buffers included, and its queue empties after each burst.
	Much     = 3 << 20
	muchPart = 4
)

// Budget is safe for concurrent use. The zero value of Budget, and nil, impose no limit.
type Budget struct {
	bytes  int
	little int      // bytes that any queue may hold
	much   int      // bytes of a user whose end is worth a garbage collection
	_      [64]byte // all threads read the fields above for each frame; users write the fields below
	users  atomic.Int64
	freed  atomic.Int64
}

// New returns a budget of the given number of bytes.
func New(bytes int) *Budget {
	return &Budget{bytes: bytes, little: min(max(bytes/littlePart, leastLittle), Little), much: min(Much, bytes/muchPart)}
}

// Bytes returns the size of the budget in bytes.
func (b *Budget) Bytes() int { return b.bytes }

// Of returns the size of the budget, in bytes, for a process with the given soft memory limit.
func Of(limit int64) int { return int(min(limit/Part, Most)) }

// User is one queue's account of the budget. A User is not safe for concurrent use. The zero
// value of User is ready for use, without a limit.
type User struct {
	of    *Budget
	using bool
	most  int // the largest number of bytes held since it became a user
}

// User returns a new account that holds no bytes.
func (b *Budget) User() User { return User{of: b} }

// Hold records the number of bytes that u holds now, and returns how many u may hold, but no more
// than `most`. An account above Little becomes a user of the budget. A user of the budget remains
// a user until it holds no bytes, so the number of users does not flap.
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
		return most // it holds at most Little bytes
	}
	u.most = max(u.most, bytes)
	return min(most, max(u.of.bytes/int(u.of.users.Load()), u.of.little))
}

// Freed returns how many bytes users have released since the last call. It adds up the peaks of the
// users that held at least Much bytes and now hold none. Their memory may be garbage, or be in a
// sync.Pool, where the runtime counts it as used.
func (b *Budget) Freed() int { return int(b.freed.Swap(0)) }

// Users returns the number of users of the budget.
func (b *Budget) Users() int { return int(b.users.Load()) }
