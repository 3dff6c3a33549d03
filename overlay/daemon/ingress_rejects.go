package daemon

import (
	"hash/maphash"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/merge"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd/mono"
)

// These limits apply to all ICMP errors together, so that packets to unreachable addresses use at
// most a few thousandths of a processor's time. Linux has the same limits for its own ICMP errors
// (icmp_msgs_per_sec and icmp_msgs_burst of ip-sysctl).
const (
	unreachableRate  = 1000 // ICMP errors in a second
	unreachableBurst = 50   // ICMP errors in one burst after a pause
)

// These limits apply to the ICMP errors sent to one host, and to one host about one destination.
// With a limit for each host, neither a port scan nor a flood by one host deprives other hosts of
// ICMP errors. A connection needs one immediate ICMP error, and then one each second.
const (
	unreachableHostRate  = 200
	unreachableHostBurst = 20
	unreachablePairRate  = 10
	unreachablePairBurst = 6 // as Linux, XRLIM_BURST_FACTOR
	// unreachableSlots bounds the memory of the limits: 16 KB for hosts and 16 KB for pairs. Hosts
	// in the same slot share one limit. A random seed assigns hosts to slots, so nobody can choose
	// a slot.
	unreachableSlots = 1024
	// hostBits is the length of the IPv6 prefix whose addresses count as one host (RFC 6177).
	hostBits = 64
)

// allowance is a token bucket. The zero value of allowance is a full bucket.
type allowance struct {
	spent float64 // tokens of the burst that were used and are not refilled yet
	at    mono.Time
}

// has reports whether the bucket contains a token.
func (a *allowance) has(now mono.Time, rate, burst float64) bool {
	if now > a.at {
		a.spent = max(0, a.spent-rate*now.Sub(a.at).Seconds())
		a.at = now
	}
	return a.spent+1 <= burst
}

// unreachables sends an ICMP error for each packet without a receiving peer, as WireGuard does,
// so that applications need not wait for minutes. Methods of unreachables are safe for
// concurrent use, and a nil unreachables sends no errors.
type unreachables struct {
	dev     *tundev.Device
	running *runningConfig

	mu    sync.Mutex
	seed  maphash.Seed // zero: not drawn yet
	all   allowance
	hosts [unreachableSlots]allowance
	pairs [unreachableSlots]allowance

	sent     atomic.Uint64
	withheld atomic.Uint64 // ICMP errors withheld by the limits
}

// tell sends ICMP errors to the senders of frames. The caller keeps ownership of the frames.
func (u *unreachables) tell(now mono.Time, frames ...*frame.Frame) {
	if u == nil {
		return
	}
	for _, f := range frames {
		u.answer(now, f)
	}
}

func (u *unreachables) answer(now mono.Time, f *frame.Frame) {
	var in packet.Info
	if packet.Parse(f.Data, &in) != packet.OK {
		return
	}
	n := packet.UnreachableLen(f.Data, &in)
	if at := u.running.Load(); n == 0 || at.own(in.Dst) || at.broadcast(in.Dst) || at.broadcast(in.Src) {
		return
	}
	if !u.take(now, in.Src, in.Dst) {
		u.withheld.Add(1)
		return
	}
	u.sent.Add(1)
	answer := u.dev.Pool().Get(n)
	packet.PutUnreachable(answer.Data, f.Data, &in)
	write(u.dev, answer, merge.AsCame)
}

// take reports whether src may get one more ICMP error about dst, and counts that error.
func (u *unreachables) take(now mono.Time, src, dst netip.Addr) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	host, pair := u.slots(src, dst)
	if !pair.has(now, unreachablePairRate, unreachablePairBurst) || !host.has(now, unreachableHostRate, unreachableHostBurst) ||
		!u.all.has(now, unreachableRate, unreachableBurst) {
		return false
	}
	pair.spent++
	host.spent++
	u.all.spent++
	return true
}

func (u *unreachables) slots(src, dst netip.Addr) (host, pair *allowance) {
	if u.seed == (maphash.Seed{}) {
		u.seed = maphash.MakeSeed()
	}
	var both [32]byte
	from, to := src.As16(), dst.As16()
	copy(both[:16], from[:])
	copy(both[16:], to[:])
	pair = &u.pairs[maphash.Bytes(u.seed, both[:])%unreachableSlots]
	one := both[:16]
	if src.Is6() {
		one = both[:hostBits/8]
	}
	return &u.hosts[maphash.Bytes(u.seed, one)%unreachableSlots], pair
}

// own reports whether `a` is an address of this host's interface. For such an address no ICMP error
// is sent, because the kernel routes its packets into the tunnel only until the address has its
// local route.
func (c *snapshot) own(a netip.Addr) bool {
	for _, p := range c.cfg.Interface.Address {
		if p.Addr() == a {
			return true
		}
	}
	return false
}

// broadcast reports whether `a` is the broadcast address of a network of the interface. The
// broadcast address is the last one of the network (RFC 1122 section 3.2.1.3), unless the
// network has only two addresses (RFC 3021).
func (c *snapshot) broadcast(a netip.Addr) bool {
	for _, p := range c.cfg.Interface.Address {
		if a.Is4() && p.Contains(a) && p.Bits() < 31 && !p.Contains(a.Next()) {
			return true
		}
	}
	return false
}
