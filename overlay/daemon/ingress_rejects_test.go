package daemon

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/srd/mono"
)

// soon is the time within which a connection to an unreachable address must fail. The first ICMP
// error may have no effect, because the kernel still holds the socket while it sends the first
// packet. The next error is sent a second later.
const soon = 3 * time.Second

// refusedAt connects to an address. It returns how long the failure took, and the error.
func refusedAt(t *testing.T, to string, most time.Duration) (took time.Duration, err error) {
	t.Helper()
	d := net.Dialer{Timeout: most}
	begin := time.Now()
	c, err := d.Dial("tcp", net.JoinHostPort(to, "80"))
	if err == nil {
		c.Close()
		t.Fatalf("%s: somebody is there", to)
	}
	return time.Since(begin), err
}

// An application that connects to an address without a peer, or to a peer without an endpoint, gets
// an error immediately.
func TestNobodyThereIsToldAtOnce(t *testing.T) {
	runDir(t)
	r := up(t, parse(t, `endpoints = ["localhost:5998"]`, ""))
	for _, to := range []string{"10.80.0.99", "fd80::99", "10.80.0.3"} {
		took, err := refusedAt(t, to, patience)
		if !errors.Is(err, syscall.EHOSTUNREACH) || took > soon {
			t.Errorf("%s: %v after %v", to, err, took)
		}
	}
	c := r.server.status.dropCounts().all()
	if v := r.server.status.show(r.server.running.peers()); c["no_route"] < 2 || v.Peers[1].Drops["no_endpoint"] < 1 || v.Device.UnreachableSent < 3 {
		t.Errorf("counted: %v, %v, %+v", c, v.Peers[1].Drops, v.Device)
	}
	r.cancel()
	r.wait()
}

// Connections to a silent peer fail after some seconds, and not before, like connections to a
// silent host on an Ethernet.
func TestSilentPeerIsToldLater(t *testing.T) {
	runDir(t)
	r := up(t, parse(t))
	took, err := refusedAt(t, "10.80.0.2", patience)
	if !errors.Is(err, syscall.EHOSTUNREACH) || took < staleAfter-time.Second || took > staleAfter+soon {
		t.Errorf("%v after %v", err, took)
	}
	if n := r.server.status.show(r.server.running.peers()).Peers[0].Drops["queue_stale"]; n == 0 {
		t.Error("it is not counted")
	}
	r.cancel()
	r.wait()
}

// The host's own broadcasts and multicasts cause no ICMP errors.
func TestBroadcastIsNotAnswered(t *testing.T) {
	runDir(t)
	r := up(t, parse(t))
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errors.Join(c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_BROADCAST, 1) }), err)
	}}
	c, err := lc.ListenPacket(context.Background(), "udp4", "10.80.0.1:0")
	must(t, err)
	defer c.Close()
	before := r.server.status.dropCounts().all()["no_route"]
	sent := r.server.ingress.rejects.sent.Load()
	for _, to := range []string{"10.80.0.255", "224.0.0.9"} {
		if _, err := c.WriteTo([]byte("hello"), net.UDPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(to), 9))); err != nil {
			t.Logf("%s: %v", to, err) // without a route no packet reaches the device
		}
	}
	for end := time.Now().Add(patience); r.server.status.dropCounts().all()["no_route"] == before; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it did not come")
		}
	}
	if got := r.server.ingress.rejects.sent.Load(); got != sent {
		t.Errorf("%d answers", got-sent)
	}
	r.cancel()
	r.wait()
}

func TestNetworkBroadcast(t *testing.T) {
	s := snapshot{cfg: &config.Config{}}
	for _, p := range []string{"10.80.0.1/24", "10.9.0.1/31", "10.8.0.1/32", "fd80::1/64"} {
		s.cfg.Interface.Address = append(s.cfg.Interface.Address, netip.MustParsePrefix(p))
	}
	for a, want := range map[string]bool{
		"10.80.0.255": true, "10.80.0.254": false, "10.80.1.255": false, "10.9.0.1": false, "10.8.0.1": false,
		"fd80::ffff:ffff:ffff:ffff": false,
	} {
		if s.broadcast(netip.MustParseAddr(a)) != want {
			t.Errorf("%s: not %v", a, want)
		}
	}
}

// The limit applies to all senders together. As time passes, further errors are allowed.
func TestUnreachableRate(t *testing.T) {
	var u unreachables
	asked := uint32(0)
	count := func(now mono.Time) (n int) {
		for range 4 * unreachableBurst { // each to another host
			asked++
			from := netip.AddrFrom4([4]byte{10, byte(asked >> 16), byte(asked >> 8), byte(asked)})
			if u.take(now, from, netip.MustParseAddr("10.80.0.9")) {
				n++
			}
		}
		return n
	}
	if n := count(at(1)); n != unreachableBurst {
		t.Errorf("%d at once", n)
	}
	if n := count(at(1).Add(10 * time.Millisecond)); n != 10 {
		t.Errorf("%d after 10 ms", n)
	}
	if n := count(at(1)); n != 0 { // the clock reading of another thread may be a little older
		t.Errorf("%d in the past", n)
	}
	if n := count(at(100)); n != unreachableBurst {
		t.Errorf("%d after long", n)
	}
}

// Neither a flow to an unreachable address nor a host that scans addresses uses up the ICMP errors
// of other hosts.
func TestNobodyMutesOthers(t *testing.T) {
	for _, v := range []struct{ near, other, nobody string }{
		{"10.80.0.1", "10.80.0.2", "10.80.1."}, {"fd80::1", "fd80:0:0:1::1", "fd80:9::"},
	} {
		var u unreachables
		near, other := netip.MustParseAddr(v.near), netip.MustParseAddr(v.other)
		nobody := func(i int) netip.Addr { return netip.MustParseAddr(v.nobody + fmt.Sprint(i)) }
		flood := func(now mono.Time, src netip.Addr, hosts int) (n int) {
			for i := range 10_000 {
				if u.take(now, src, nobody(i%hosts)) {
					n++
				}
			}
			return n
		}
		if n := flood(at(1), near, 1); n != unreachablePairBurst {
			t.Errorf("%s: a flow has %d answers", v.near, n)
		}
		// Other flows of the same host, to other destinations, get errors, except where two pairs
		// happen to share a slot.
		ok := 0
		for i := range 4 {
			if u.take(at(1), near, nobody(100+i)) {
				ok++
			}
		}
		if ok == 0 {
			t.Errorf("%s: a flow mutes another of its host", v.near)
		}
		if n := flood(at(2), near, 200); n != unreachableHostBurst {
			t.Errorf("%s: a scan has %d answers", v.near, n)
		}
		ok = 0
		for i := range 4 {
			if u.take(at(2), other, nobody(100+i)) {
				ok++
			}
		}
		if ok == 0 {
			t.Errorf("%s: a scan mutes another host", v.near)
		}
	}
}

// Until the kernel has made the local route of an interface's address, it sends packets for that
// address into the tunnel. An ICMP error about them would make an application give up a working
// address.
func TestOwnAddressIsReachable(t *testing.T) {
	s := snapshot{cfg: &config.Config{}}
	s.cfg.Interface.Address = []netip.Prefix{netip.MustParsePrefix("10.80.0.1/24"), netip.MustParsePrefix("fd80::1/64")}
	for a, want := range map[string]bool{"10.80.0.1": true, "fd80::1": true, "10.80.0.2": false, "fd80::2": false} {
		if s.own(netip.MustParseAddr(a)) != want {
			t.Errorf("%s: not %v", a, want)
		}
	}
}

// A peer that forges the source of an inner packet causes no ICMP error to that source, whether it
// is this end's, another peer's or an unknown address.
func TestForgedSourceIsNotAnswered(t *testing.T) {
	runDir(t)
	r := up(t, parse(t))
	p := r.server.running.peers()[0]
	sources := []string{"10.80.0.1", "10.80.0.3", "10.80.0.99", "192.0.2.1", "8.8.8.8"}
	for _, src := range sources {
		for _, dst := range []string{"10.80.0.99", "10.80.0.3", src} {
			f := r.server.device.tun.Pool().Get(28)
			copy(f.Data, []byte{0x45, 0, 0, 28, 0, 1, 0, 0, 64, 17, 12: 0, 27: 0})
			copy(f.Data[12:], netip.MustParseAddr(src).AsSlice())
			copy(f.Data[16:], netip.MustParseAddr(dst).AsSlice())
			binary.BigEndian.PutUint16(f.Data[24:], 8)
			if kept := p.delivery.filter(r.server.sessions.loop.Now(), []*frame.Frame{f}); len(kept) != 0 {
				t.Errorf("from %s to %s: written to the device", src, dst)
			}
		}
	}
	if n, sent := p.delivery.forged.Load(), r.server.ingress.rejects.sent.Load(); n != uint64(3*len(sources)) || sent != 0 {
		t.Errorf("%d refused, %d answers", n, sent)
	}
	r.cancel()
	r.wait()
}
