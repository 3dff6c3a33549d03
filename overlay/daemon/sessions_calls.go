package daemon

import (
	"net/netip"
	"sync"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// These bounds limit the handshakes and first challenges to unproven addresses that guests name.
// Each new peer is called several times in its first second. Without a bound, an owner who replaces
// his peers all the time floods the addresses that he names. Payload bytes count.
const (
	// calleeBurst is for one address: 64 guests (config.maxGuestsAtAddress) call it once on
	// eight paths.
	calleeBurst = 128 << 10
	// calleeRate is the allowance that one address regains in a second: such a call every 8 s.
	calleeRate = 16 << 10
	// guestsBurst is for all addresses: 4,096 guests call on eight paths once.
	guestsBurst = 8 << 20
	// guestsRate is the allowance that all addresses together regain in a second. It suffices to
	// call a fleet of a thousand absent members.
	guestsRate = 64 << 10
	// mostCallees bounds the accounts, which take about a mebibyte. An account is deleted when
	// nothing is spent any more, 15 ms after one handshake.
	mostCallees = 1 << 14
	// sweepEvery is the interval of deletion. Checking all accounts takes a millisecond at most.
	sweepEvery = time.Second
)

// guestCalls accounts for the bytes that guests caused to unproven addresses. It outlives the
// peers, since their owner can replace them at any time. Any goroutine may use it.
type guestCalls struct {
	mu  sync.Mutex
	all account
	to  map[netip.Addr]account

	swept mono.Time // when full accounts were last forgotten
}

// account holds the bytes spent until a time. The zero value has spent nothing.
type account struct {
	spent float64 // bytes
	at    mono.Time
}

// after returns the account at a later time. It regains rate bytes a second.
func (a account) after(now mono.Time, rate float64) account {
	if now > a.at {
		a.spent, a.at = max(0, a.spent-rate*now.Sub(a.at).Seconds()), now
	}
	return a
}

// take spends n bytes to an address, if the bounds of that address and of all addresses allow it.
func (g *guestCalls) take(now mono.Time, to netip.Addr, n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	to = to.Unmap().WithZone("")
	all, one := g.all.after(now, guestsRate), g.to[to].after(now, calleeRate)
	all.spent, one.spent = all.spent+float64(n), one.spent+float64(n)
	if all.spent > guestsBurst || one.spent > calleeBurst || !g.room(now, to) {
		return false
	}
	g.all, g.to[to] = all, one
	return true
}

// room reports whether there is room for an account, and deletes accounts without spent bytes.
func (g *guestCalls) room(now mono.Time, to netip.Addr) bool {
	if g.to == nil {
		g.to = map[netip.Addr]account{}
	}
	if now.Sub(g.swept) >= sweepEvery {
		g.swept = now
		for addr, a := range g.to {
			if a.after(now, calleeRate).spent == 0 {
				delete(g.to, addr)
			}
		}
	}
	_, has := g.to[to]
	return has || len(g.to) < mostCallees
}
