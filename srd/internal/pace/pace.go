// Package pace spreads the packets of a window over the round trip. It is a token bucket
// with the rate of congestion control.
package pace

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Bucket is a token bucket in bytes, full at its zero value. The tokens may be negative
// by up to one train. A Bucket is not safe for concurrent use.
type Bucket struct {
	tokens float64
	at     mono.Time
	used   bool
}

// Refill adds the tokens for the time since the last call, up to `burst` bytes. The rate is
// in bytes per second.
func (b *Bucket) Refill(now mono.Time, rate float64, burst int) {
	if !b.used {
		b.tokens, b.at, b.used = float64(burst), now, true
		return
	}
	if now > b.at {
		b.tokens += rate * now.Sub(b.at).Seconds()
		b.at = now
	}
	b.tokens = min(b.tokens, float64(burst))
}

// Holds reports whether the bucket has more than n bytes.
func (b *Bucket) Holds(n int) bool { return b.tokens > float64(n) || !b.used }

// Spend removes n bytes.
func (b *Bucket) Spend(n int) { b.tokens -= float64(n) }

// Tokens returns the bytes in the bucket. A negative number of bytes is a debt.
func (b *Bucket) Tokens() int { return int(b.tokens) }

// When returns the time at which the bucket will have `quantum` bytes at this rate.
func (b *Bucket) When(rate float64, quantum int) mono.Time {
	need := float64(quantum) - b.tokens
	if need <= 0 || rate <= 0 {
		return b.at
	}
	return b.at.Add(time.Duration(need / rate * 1e9))
}
