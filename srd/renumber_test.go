package srd_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd"
)

// uplinks is a network in which side 0 has two uplinks, each with one address, and side 1
// has one address. The number of source ports is half the size of the path table.
type uplinks struct {
	p     *pair
	addrs [2]netip.Addr // addresses of side 0
	gone  map[netip.Addr]bool
}

const portsEach = 128

func newUplinks(t *testing.T, seed uint64, delay time.Duration) *uplinks {
	u := &uplinks{p: newPair(t, seed, &link{delay: delay}), gone: map[netip.Addr]bool{}}
	u.addrs = [2]netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.1.0.1")}
	u.p.route = func(side int, from srd.Tuple) (to srd.Tuple, ok bool) {
		if side == 0 {
			to = srd.Tuple{Local: srd.UplinkOf(from.Remote.Addr(), 0), Remote: netip.AddrPortFrom(from.Local.Addr(), 1000+from.Sock)}
			return to, !u.gone[from.Local.Addr()]
		}
		to = srd.Tuple{Sock: from.Remote.Port() - 1000, Local: srd.UplinkOf(from.Remote.Addr(), 0), Remote: netip.AddrPortFrom(from.Local.Addr(), 7)}
		return to, !u.gone[from.Remote.Addr()]
	}
	return u
}

// place gives side 0 the tuples of its present addresses.
func (u *uplinks) place() {
	var v []srd.Tuple
	for port := range uint16(portsEach) {
		for _, a := range u.addrs {
			v = append(v, srd.Tuple{Sock: port, Local: srd.UplinkOf(a, 0), Remote: netip.MustParseAddrPort("10.0.0.2:7")})
		}
	}
	h := u.p.host[0]
	h.conn.SetTuples(u.p.now, v)
	h.conn.Connect(u.p.now)
	h.service()
}

// active returns the number of active paths of `side` over side 0's address `a`.
func (u *uplinks) active(side int, a netip.Addr) (n int) {
	for _, i := range u.p.host[side].conn.Paths() {
		if i.State == srd.PathActive && (i.Tuple.Local.Addr() == a || i.Tuple.Remote.Addr() == a) {
			n++
		}
	}
	return n
}

// talk lets d pass with traffic in both directions.
func (u *uplinks) talk(d time.Duration) {
	for end := u.p.now.Add(d); u.p.now < end; {
		for _, h := range u.p.host {
			h.src.left, h.src.size = 30, 1200
			h.service()
		}
		u.p.run(10*time.Millisecond, never)
	}
}

// want fails unless both sides have at least `least` active paths over each address.
func (u *uplinks) want(least int, when string) {
	u.p.t.Helper()
	for side := range 2 {
		for _, a := range u.addrs {
			if n := u.active(side, a); n < least {
				u.p.t.Errorf("%s, side %d: %d of %d paths over %v", when, side, n, portsEach, a)
			}
		}
	}
}

// renumber replaces side 0's address on uplink i.
func (u *uplinks) renumber(i, round int) {
	u.gone[u.addrs[i]] = true
	u.addrs[i] = netip.AddrFrom4([4]byte{10, byte(2 + i), byte(round), 1})
}

// One uplink or both get another address, while the path tables of both sides are full.
// Within a second the uplink is used again, and within two seconds all its paths are active
// at both ends, however often this happens.
func TestRenumberedUplink(t *testing.T) {
	for _, delay := range []time.Duration{50 * time.Microsecond, 10 * time.Millisecond} {
		u := newUplinks(t, 41, delay)
		u.place()
		u.talk(3 * time.Second)
		u.want(portsEach, "at first")
		for round := range 4 {
			u.renumber(0, round)
			if round == 2 {
				u.renumber(1, round)
			}
			u.place()
			u.talk(time.Second)
			u.want(portsEach*7/8, fmt.Sprintf("%v, round %d, after 1 s", delay, round))
			u.talk(time.Second)
			u.want(portsEach, fmt.Sprintf("%v, round %d, after 2 s", delay, round))
		}
	}
}
