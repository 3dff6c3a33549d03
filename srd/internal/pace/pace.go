// Package pace spreads a window's packets over its round trip: a token bucket
// whose rate follows the congestion controller.
package pace

import (
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Bucket is a token bucket in bytes, full at its zero value. It may go into
// debt by one train, which the next refill pays back. It is not safe for
// concurrent use.
type Bucket struct {
	tokens float64
	at     mono.Time
	used   bool
}

// Refill adds what rate (bytes per second) gave since the last call, up to
// burst bytes.
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

// Holds reports whether something may be sent now that is not the first of its train: whether there
// are more than n bytes.
func (b *Bucket) Holds(n int) bool { return b.tokens > float64(n) || !b.used }

// Spend takes n bytes out.
func (b *Bucket) Spend(n int) { b.tokens -= float64(n) }

// Tokens returns what is left, in bytes; negative is debt.
func (b *Bucket) Tokens() int { return int(b.tokens) }

// When returns the time at which quantum bytes will be there at rate.
func (b *Bucket) When(rate float64, quantum int) mono.Time {
	need := float64(quantum) - b.tokens
	if need <= 0 || rate <= 0 {
		return b.at
	}
	return b.at.Add(time.Duration(need / rate * 1e9))
}
