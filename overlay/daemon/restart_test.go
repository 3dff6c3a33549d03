package daemon

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/handover"
	"golang.org/x/sys/unix"
)

// keeper is a Store inside the test, which holds the bundle of one process.
type keeper struct {
	expected bool
	fail     error
	got      *handover.Bundle
}

func (k *keeper) Expected() bool { return k.expected }

func (k *keeper) Give(b *handover.Bundle) error {
	if k.fail != nil {
		return k.fail
	}
	k.got = &handover.Bundle{State: b.State, TUN: dup(b.TUN), UDP: dup(b.UDP)}
	return nil
}

func dup(fds []int) (v []int) {
	for _, fd := range fds {
		n, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			panic(err)
		}
		v = append(v, n)
	}
	return v
}

// serve runs a daemon until the test calls stop(), which returns the daemon's error.
func serve(t *testing.T, o Options) (stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done, ready := make(chan error, 1), make(chan struct{})
	o.Log, o.Ready = func(events.Event) {}, func() { close(ready) }
	go func() { done <- Run(ctx, o) }()
	end := func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patience):
			t.Fatal("it does not end")
			return nil
		}
	}
	select {
	case <-ready:
	case err := <-done:
		cancel()
		t.Fatalf("Run: %v", err)
	case <-time.After(patience):
		t.Fatal("not ready")
	}
	return end
}

// sameState fails the test if the state has changed. The number of descriptors may be smaller,
// because earlier tests and the netlink package close some in the background.
func sameState(t *testing.T, run string, before []string) {
	t.Helper()
	was, rest := descriptorsOf(before)
	var now int
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		var after []string
		if now, after = descriptorsOf(state(t, run)); now <= was && slices.Equal(after, rest) {
			return
		} else if time.Now().After(end) {
			t.Errorf("%d descriptors and %v, before %d and %v", now, after, was, rest)
			return
		}
	}
}

// descriptorsOf returns the number of descriptors in a state.
func descriptorsOf(state []string) (n int, rest []string) {
	for _, s := range state {
		if _, err := fmt.Sscanf(s, "descriptors %d", &n); err != nil {
			rest = append(rest, s)
		}
	}
	return n, rest
}

func index(t *testing.T, name string) int {
	t.Helper()
	i, err := net.InterfaceByName(name)
	if err != nil {
		return 0
	}
	return i.Index
}

func TestTheNextProcessHasTheSameDeviceAndPorts(t *testing.T) {
	run := runDir(t)
	c := parse(t, `"10.81.0.0/16"`, `"0.0.0.0/0"`)
	before := state(t, run)
	k := &keeper{expected: true}
	stop := serve(t, Options{Config: c, Store: k})
	first := index(t, "srdd0")
	must(t, stop())
	if k.got == nil {
		t.Fatal("nothing was passed on")
	}
	if index(t, "srdd0") != first {
		t.Error("the device is not there between the two")
	}
	k.got.State.Peers = []handover.Peer{{Key: key(t, 3), Addresses: []netip.AddrPort{netip.MustParseAddrPort("127.0.0.1:5990")}}}
	taken := k.got.UDP[0]
	k2 := &keeper{}
	stop = serve(t, Options{Config: c, Store: k2, Before: k.got})
	if index(t, "srdd0") != first {
		t.Error("the next process has another device")
	}
	if _, err := unix.Getsockname(taken); err != nil {
		t.Errorf("the sockets that were passed on are not used: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if k2.got != nil {
		t.Error("passed on to nobody")
	}
	sameState(t, run, before)
}

// After a change of the file, the next process does not take over the device, and applies the new
// file.
func TestAnotherSetupIsMadeAnew(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	for _, change := range [][2]string{
		{`"10.81.0.0/16"`, `"10.82.0.0/16"`},
		{"listen_port = 5555", "listen_port = 5556"},
		{"source_ports = 4", "source_ports = 3"},
		{`"10.80.0.1/24"`, `"10.80.0.9/24"`},
		{"[paths]", "mtu = 1400\n[paths]"},
		{"[paths]", "workers = 3\n[paths]"},
	} {
		k := &keeper{expected: true}
		stop := serve(t, Options{Config: parse(t), Store: k})
		first := index(t, "srdd0")
		must(t, stop())
		stop = serve(t, Options{Config: parse(t, change[0], change[1]), Store: &keeper{}, Before: k.got})
		if now := index(t, "srdd0"); now == first || now == 0 {
			t.Errorf("%s: device %d was %d", change[1], now, first)
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		sameState(t, run, before)
	}
}

// An incomplete or invalid bundle is not used, and its descriptors are closed.
func TestDamagedBundlesAreMadeAnew(t *testing.T) {
	run := runDir(t)
	c := parse(t)
	before := state(t, run)
	for name, damage := range map[string]func(b *handover.Bundle){
		"a socket for a queue": func(b *handover.Bundle) { b.TUN[0], b.UDP[0] = b.UDP[0], b.TUN[0] },
		"a socket is missing":  func(b *handover.Bundle) { unix.Close(b.UDP[0]); b.UDP = b.UDP[1:] },
		"ports of others":      func(b *handover.Bundle) { b.State.Ports = slices.Repeat([]uint16{1}, 4) },
		"no ports":             func(b *handover.Bundle) { b.State.Ports = nil },
		"no setup":             func(b *handover.Bundle) { b.State.Setup = "" },
	} {
		k := &keeper{expected: true}
		must(t, serve(t, Options{Config: c, Store: k})())
		damage(k.got)
		if err := serve(t, Options{Config: c, Store: &keeper{}, Before: k.got})(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		sameState(t, run, before)
	}
}

func TestNothingIsKeptWhenTheStoreFails(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	for _, k := range []*keeper{{expected: true, fail: unix.ENOBUFS}, {}} {
		if err := serve(t, Options{Config: parse(t), Store: k})(); err != nil {
			t.Error(err)
		}
		sameState(t, run, before)
	}
}

// If the next process cannot even start, Discard removes the device, routes and rules.
func TestDiscard(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	k := &keeper{expected: true}
	must(t, serve(t, Options{Config: parse(t, `"10.81.0.0/16"`, `"0.0.0.0/0"`), Store: k})())
	if err := Discard("srdd0", k.got); err != nil {
		t.Error(err)
	}
	sameState(t, run, before)
	if err := Discard("srdd0", nil); err != nil {
		t.Error(err)
	}
}

// If a peer begins the handshakes itself and has no endpoint here, the next process immediately
// sends handshakes to its last address.
func TestPeersAreGreetedWhereTheyWere(t *testing.T) {
	runDir(t)
	var c *config.Config
	there, err := net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must(t, err)
	defer there.Close()
	c = parse(t, `endpoints = ["127.0.0.1:5999"]`, "", `endpoints = ["localhost:5998"]`, "")
	k := &keeper{expected: true}
	must(t, serve(t, Options{Config: c, Store: k})())
	k.got.State.Peers = []handover.Peer{{Key: key(t, 2), Addresses: []netip.AddrPort{there.LocalAddr().(*net.UDPAddr).AddrPort()}}}
	stop := serve(t, Options{Config: c, Before: k.got})
	there.SetReadDeadline(time.Now().Add(patience))
	if _, _, err := there.ReadFromUDPAddrPort(make([]byte, 2048)); err != nil {
		t.Errorf("not called: %v", err)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
