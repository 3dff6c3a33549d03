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

// These bounds apply to all answers together. They are Linux's own bounds for ICMP errors
// (icmp_msgs_per_sec and icmp_msgs_burst of ip-sysctl). So senders to unreachable addresses cost
// at most some thousandth of a processor.
const (
	unreachableRate  = 1000 // a second
	unreachableBurst = 50   // after a pause
)

// These bounds apply to the answers to one host, and to one host about one destination. So
// neither a port scan nor a flood by one host deprives others of answers. A connection needs one
// answer at once, and one more each second.
const (
	unreachableHostRate  = 200
	unreachableHostBurst = 20
	unreachablePairRate  = 10
	unreachablePairBurst = 6 // as Linux, XRLIM_BURST_FACTOR
	// unreachableSlots bounds the memory: 16 KB for hosts and 16 KB for pairs. Hosts in the same
	// slot share its answers. A random seed assigns the slots, so nobody can choose one.
	unreachableSlots = 1024
	// hostBits is the length of the IPv6 prefix that counts as one host (RFC 6177).
	hostBits = 64
)

// allowance is a token bucket. The zero value is full.
type allowance struct {
	spent float64 // used part of the burst, not given back yet
	at    mono.Time
}

// has reports whether the allowance has one more token.
func (a *allowance) has(now mono.Time, rate, burst float64) bool {
	if now > a.at {
		a.spent = max(0, a.spent-rate*now.Sub(a.at).Seconds())
		a.at = now
	}
	return a.spent+1 <= burst
}

// unreachables answers packets without a receiving peer with an ICMP error, as the kernel's
// WireGuard does. So an application learns at once that a host is unreachable, instead of
// waiting for minutes. It is safe for concurrent use. nil answers nothing.
type unreachables struct {
	dev     *tundev.Device
	running *runningConfig

	mu    sync.Mutex
	seed  maphash.Seed // zero: not drawn yet
	all   allowance
	hosts [unreachableSlots]allowance
	pairs [unreachableSlots]allowance

	sent     atomic.Uint64
	withheld atomic.Uint64 // by the bounds
}

// tell answers frames with ICMP errors. The caller keeps the frames.
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

// take reports whether src may get one more answer about dst, and counts it.
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

// slots returns the allowances of a host and of a pair.
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

// own reports whether a is an address of this end's interface. The kernel sends packets for such
// an address into the tunnel until it has made the address's own route. The address is reachable
// a moment later, so no error is sent.
func (c *snapshot) own(a netip.Addr) bool {
	for _, p := range c.cfg.Interface.Address {
		if p.Addr() == a {
			return true
		}
	}
	return false
}

// broadcast reports whether a means all hosts of a network of the interface. It is the
// network's last address (RFC 1122 section 3.2.1.3), unless the network has only two
// (RFC 3021).
func (c *snapshot) broadcast(a netip.Addr) bool {
	for _, p := range c.cfg.Interface.Address {
		if a.Is4() && p.Contains(a) && p.Bits() < 31 && !p.Contains(a.Next()) {
			return true
		}
	}
	return false
}
