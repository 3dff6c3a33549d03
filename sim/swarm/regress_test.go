package swarm

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/sim/host"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd/handshake"
)

// twoHosts builds two hosts that both send initiations, on a network without faults.
func twoHosts(spines, ports int, q net.Quality, change func(*FabricSpec)) *Fabric {
	return twoHostsOf(1, spines, ports, q, change)
}

// twoHostsOf is like twoHosts, with another seed for the hashes of the switches.
func twoHostsOf(seed uint64, spines, ports int, q net.Quality, change func(*FabricSpec)) *Fabric {
	s := FabricSpec{Spines: spines, NAT: make([]bool, 2), Passive: make([]bool, 2)}
	for range 2 {
		s.Hosts = append(s.Hosts, host.Config{Ports: ports, MTU: 1472, Offers: handshake.OffersOf(handshake.AES256GCM)})
		var row [][2]net.Quality
		for range spines {
			row = append(row, [2]net.Quality{q, q})
		}
		s.Cables = append(s.Cables, row)
	}
	if change != nil {
		change(&s)
	}
	return NewFabric(net.NewEngine(seed, nil), s)
}

// pass lets time pass, and fails if an invariant is violated.
func (f *Fabric) pass(t *testing.T, d time.Duration, done func() bool) bool {
	t.Helper()
	ok := f.Engine.Run(d, func() bool { return f.Audit.Err() != nil || done != nil && done() })
	if err := f.Audit.Err(); err != nil {
		t.Fatal(err)
	}
	return ok
}

// say offers n messages from one host to the other.
func (f *Fabric) say(from, n int) host.App {
	p := f.Hosts[from].Process().Peers[0]
	p.App.Offer(host.Batch{N: n, Min: 100, Max: 1000})
	f.Hosts[from].Poke()
	return p.App
}

// wantSoon fails unless n more messages in each direction arrive within d.
func (f *Fabric) wantSoon(t *testing.T, n int, d time.Duration) {
	t.Helper()
	a, b := f.say(0, n), f.say(1, n)
	first, second := a.Begun(), b.Begun()
	arrived := func() bool {
		x, _ := a.Undelivered(first)
		y, _ := b.Undelivered(second)
		return a.Begun() == first+n && b.Begun() == second+n && x+y == 0
	}
	if !f.pass(t, d, arrived) {
		x, _ := a.Undelivered(first)
		y, _ := b.Undelivered(second)
		t.Fatalf("after %v %d and %d of %d messages were sent, %d and %d of those have not arrived", d, a.Begun()-first, b.Begun()-second, n, x, y)
	}
}

func (f *Fabric) boot() {
	for _, h := range f.Hosts {
		h.Boot()
	}
}

func (f *Fabric) blackout(d time.Duration) { f.fail(f.Links(), d) }

var clean = net.Quality{Rate: 100 * mbit, Delay: 5 * time.Millisecond, Queue: 1 << 18}

// Both sides send initiations at the same time. They must end with one session. If each side
// had its own, the other side's keys would expire after a few seconds, again and again.
func TestCrossedHandshakes(t *testing.T) {
	f := twoHosts(2, 4, clean, nil)
	f.boot()
	for range 300 {
		f.wantSoon(t, 2, time.Second)
		f.pass(t, 100*time.Millisecond, nil)
	}
	for _, p := range f.Peers() {
		if n := p.Conn.Stats().Handshakes; n > 2 {
			t.Errorf("%d handshakes in half a minute", n)
		}
	}
}

// An outage lasts so long that the handshake is given up. Afterwards the message numbers
// must continue, because the peer is still the same process.
func TestNumbersOutliveAnOutage(t *testing.T) {
	f := twoHosts(2, 4, clean, nil)
	f.boot()
	f.wantSoon(t, 200, 5*time.Second)
	f.say(0, 100)
	f.say(1, 100)
	f.pass(t, time.Millisecond, nil)
	f.blackout(5 * time.Minute)
	f.say(0, 100)
	f.pass(t, 5*time.Minute+10*time.Second, nil)
	f.wantSoon(t, 200, 5*time.Second)
}

// A process restarts with a clock that is an hour slow, and has more ports than one
// initiation uses. The cookie must be used on the port at which it arrived.
func TestOldClockOverManyPorts(t *testing.T) {
	for _, host := range []int{0, 1} {
		f := twoHosts(4, 26, clean, func(s *FabricSpec) { s.Passive[1-host] = true })
		f.boot()
		f.wantSoon(t, 20, 5*time.Second)
		h := f.Hosts[host]
		h.Kill()
		h.Skew -= time.Hour
		h.Boot()
		f.pass(t, 2*time.Second, nil)
		f.wantSoon(t, 20, time.Second)
	}
}

// One direction fails: the packets of one host arrive no more. This host has
// acknowledgements to send, but no path. It must still sleep, which the audit checks.
func TestAcknowledgementWithoutPath(t *testing.T) {
	f := twoHosts(4, 8, clean, nil)
	f.boot()
	f.wantSoon(t, 100, 5*time.Second)
	for _, c := range f.Cables[1] {
		f.fail([]*net.Link{c.Out}, 20*time.Second)
	}
	for range 20 {
		f.say(0, 20)
		f.say(1, 20)
		f.pass(t, time.Second, nil)
	}
	f.pass(t, 10*time.Second, nil)
	f.wantSoon(t, 100, 3*time.Second)
}

// In a total outage only probes are sent, however many repairs wait. Afterwards the pacer
// has no token debt.
func TestSilenceIsNotShoutedInto(t *testing.T) {
	f := twoHosts(2, 8, clean, nil)
	f.boot()
	f.wantSoon(t, 100, 5*time.Second)
	f.say(0, 5000)
	f.pass(t, 30*time.Millisecond, nil)
	f.blackout(40 * time.Second)
	f.pass(t, 5*time.Second, nil)
	before := f.Hosts[0].Sent
	f.pass(t, 30*time.Second, nil)
	if n := f.Hosts[0].Sent - before; n > 30*40 {
		t.Errorf("%d packets in 30 s of silence", n)
	}
	f.pass(t, 10*time.Second, nil)
	f.wantSoon(t, 50, 3*time.Second)
}

// A stranger relays packets from its own address. The address gets at most three times the
// bytes that were received from it, and its candidates are removed later.
func TestStrangersAreForgotten(t *testing.T) {
	f := twoHosts(2, 4, clean, nil)
	f.boot()
	f.wantSoon(t, 50, 5*time.Second)
	for _, tap := range f.Taps {
		tap.Race = 0.2
	}
	f.wantSoon(t, 300, 10*time.Second)
	for _, tap := range f.Taps {
		tap.Race = 0
		if tap.Injected == 0 {
			t.Error("the tap has done nothing")
		}
	}
	f.pass(t, 2*time.Minute, nil)
	f.wantSoon(t, 50, 5*time.Second)
	for i, tap := range f.Taps {
		if tap.Collected > 3*tap.Injected {
			t.Errorf("tap %d got %d bytes for %d", i, tap.Collected, tap.Injected)
		}
	}
	for _, p := range f.Peers() {
		for _, i := range p.Conn.Paths() {
			if i.Tuple.Remote.Addr() == tapAddr(0) || i.Tuple.Remote.Addr() == tapAddr(1) {
				t.Errorf("path %v to the tap is still %v", i.Tuple, i.State)
			}
		}
	}
}

// A tuple without a source address is the same path as the tuple of the first response on
// it.
func TestAnyLocalAddressIsOnePath(t *testing.T) {
	f := twoHosts(2, 6, clean, func(s *FabricSpec) {
		s.Hosts[0].AnyLocal = true
		s.Passive[1] = true
	})
	f.boot()
	f.wantSoon(t, 50, 5*time.Second)
	f.pass(t, time.Second, nil) // until each port of the peer is proven
	for _, p := range f.Peers() {
		if n := len(p.Conn.Paths()); n != 6 {
			t.Errorf("%d paths over 6 ports", n)
		}
	}
}

// A peer moves: all its addresses change, and the host uses the new ones at once.
func TestRebindUnderTraffic(t *testing.T) {
	f := twoHosts(4, 8, clean, func(s *FabricSpec) { s.NAT[0] = true })
	f.boot()
	f.wantSoon(t, 50, 5*time.Second)
	for range 5 {
		f.NATs[0].Rebind(true)
		f.pass(t, 200*time.Millisecond, nil)
		f.wantSoon(t, 50, 3*time.Second)
	}
}

// The same holds for any distribution of the new ports over the spines. If the peer moves
// before it acknowledges the last acknowledgement with a PING, only that packet is in
// flight. It must not delay later messages.
func TestRebindWhateverThePorts(t *testing.T) {
	const networks = 60
	for seed := range uint64(networks) {
		f := twoHostsOf(seed, 4, 8, clean, func(s *FabricSpec) { s.NAT[0] = true })
		f.boot()
		f.wantSoon(t, 50, 5*time.Second)
		for range 5 {
			f.NATs[0].Rebind(true)
			f.pass(t, 200*time.Millisecond, nil)
			f.wantSoon(t, 50, 300*time.Millisecond)
		}
	}
}
