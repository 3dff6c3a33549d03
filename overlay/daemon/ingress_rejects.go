package daemon

import (
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/merge"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd/mono"
)

// How many answers are given, whoever asks: Linux's own bounds for ICMP errors
// (icmp_msgs_per_sec and icmp_msgs_burst of ip-sysctl). Whoever sends in vain gets no memory
// here, and costs no more than some thousandth of a processor.
const (
	unreachableRate  = 1000 // a second
	unreachableBurst = 50   // after a while without any
)

// unreachables tells the senders of packets that no peer gets, by an ICMP error as the
// kernel's WireGuard does: an application hears at once that a host is not to be reached,
// instead of waiting for minutes. It is safe for concurrent use. nil tells nobody.
type unreachables struct {
	dev     *tundev.Device
	running *runningConfig

	mu    sync.Mutex
	spent float64 // answers of the burst that are not given back yet
	at    mono.Time

	sent     atomic.Uint64
	withheld atomic.Uint64 // for the rate
}

// tell answers frames, which stay the caller's.
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
	if !u.take(now) {
		u.withheld.Add(1)
		return
	}
	u.sent.Add(1)
	answer := u.dev.Pool().Get(n)
	packet.PutUnreachable(answer.Data, f.Data, &in)
	write(u.dev, answer, merge.AsCame)
}

// take reports whether one more answer may be given.
func (u *unreachables) take(now mono.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if now > u.at {
		u.spent = max(0, u.spent-unreachableRate*now.Sub(u.at).Seconds())
		u.at = now
	}
	if u.spent+1 > unreachableBurst {
		return false
	}
	u.spent++
	return true
}

// own reports whether a is an address of this end's interface. A packet to one comes here only
// while the kernel has not made the address's own route yet: it is reachable in a moment.
func (c *snapshot) own(a netip.Addr) bool {
	for _, p := range c.cfg.Interface.Address {
		if p.Addr() == a {
			return true
		}
	}
	return false
}

// broadcast reports whether a is all hosts of a network of the interface's: its last address
// (RFC 1122 section 3.2.1.3), unless it has but two (RFC 3021).
func (c *snapshot) broadcast(a netip.Addr) bool {
	for _, p := range c.cfg.Interface.Address {
		if a.Is4() && p.Contains(a) && p.Bits() < 31 && !p.Contains(a.Next()) {
			return true
		}
	}
	return false
}
