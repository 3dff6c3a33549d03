package daemon

import (
	"net/netip"
	"sync"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// These limits apply to handshakes and first path challenges to unvalidated addresses, if a guest's
// configuration names the address. Several handshakes are sent to each new peer in its first
// second. Without a limit, a user who replaces his peers all the time could flood any address that
// he names. The limits count payload bytes.
const (
	// calleeBurst is the limit for one address in bytes, enough for one handshake of 64 guests
	// (config.maxGuestsAtAddress) on eight paths.
	calleeBurst = 128 << 10
	// calleeRate is the number of bytes that one address regains in a second, enough for a burst of
	// calleeBurst every 8 s.
	calleeRate = 16 << 10
	// guestsBurst is the number of bytes that all addresses together may send at once. It is enough
	// for 4,096 guests, if each makes one handshake on eight paths.
	guestsBurst = 8 << 20
	// guestsRate is the number of bytes that all addresses together regain in a second. It is
	// enough for handshakes to a thousand absent members of a fleet.
	guestsRate = 64 << 10
	// mostCallees bounds the number of addresses with an account. That many accounts take about a
	// mebibyte of memory. An account is deleted when it has regained all its spent bytes, which
	// takes 15 ms after one handshake.
	mostCallees = 1 << 14
	// sweepEvery is the interval at which accounts without spent bytes are deleted. A check of all
	// accounts takes at most a millisecond.
	sweepEvery = time.Second
)

// guestCalls counts the bytes that guests have caused to be sent to unvalidated addresses. The
// counts outlive the peers, because a user can replace his peers at any time. Methods of
// guestCalls are safe for concurrent use.
type guestCalls struct {
	mu  sync.Mutex
	all account
	to  map[netip.Addr]account

	swept mono.Time // when accounts without spent bytes were last deleted
}

// account has the bytes that are spent and not yet regained at a given time. The zero value of
// account has no spent bytes.
type account struct {
	spent float64 // bytes
	at    mono.Time
}

// after returns the account at a later time, which has regained rate bytes for each second.
func (a account) after(now mono.Time, rate float64) account {
	if now > a.at {
		a.spent, a.at = max(0, a.spent-rate*now.Sub(a.at).Seconds()), now
	}
	return a
}

// take spends n bytes for an address, and reports whether both limits allow it.
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

// room reports whether another account may be created, and deletes accounts without spent bytes.
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
