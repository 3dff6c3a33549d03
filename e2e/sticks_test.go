package e2e

import (
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// stickMbit is the rate of one LTE stick, each way.
const stickMbit = 10

// stickDelay is the way of a packet through the radio network.
const stickDelay = 20 * time.Millisecond

// stickQueue is the queue of a stick in bytes: 0.2 s at its rate. Cellular networks hold at least as much.
const stickQueue = 250_000

// stickAddr is the host's address behind each stick: most sticks of one maker give the same.
const stickAddr = "192.168.8.100"

// plugStick gives A(1) the interface u<i>. Behind it A(i+1) is a router with address
// translation, like an LTE stick. A(i+3) is the radio between them.
func plugStick(t *testing.T, f *fabric.Fabric, i int, addr string) {
	t.Helper()
	a, stick, radio := f.A(1), f.A(i+1), f.A(i+3)
	do(t, radio, "sysctl -qw net.ipv6.conf.default.disable_ipv6=1; ip link del right 2>/dev/null || true")
	do(t, a, fmt.Sprintf(`ip link add u%[1]d type veth peer name left netns %[2]s
		ip addr add %[3]s/24 dev u%[1]d
		ip link set u%[1]d up`, i, radio.Name, addr))
	do(t, stick, fmt.Sprintf(`sysctl -qw net.ipv4.ip_forward=1
		ip link add lan type veth peer name right netns %s
		ip addr add 192.168.8.1/24 dev lan
		ip link set lan up
		nft 'add table ip nat; delete table ip nat; table ip nat { chain out { type nat hook postrouting priority srcnat; oifname eth0 masquerade; }; }'`, radio.Name))
	must(t, errors.Join(a.WireLike(fmt.Sprintf("u%d", i)), stick.WireLike("lan")))
	do(t, radio, "ip link set left up; ip link set right up")
	line := linkemu.Impairment{Delay: stickDelay, RateBytesPerSec: stickMbit * 1e6 / 8, LimitBytes: stickQueue}
	var ways [2]*linkemu.Line
	for k := range ways {
		var err error
		ways[k], err = linkemu.NewLine(uint64(2*i+k), line)
		must(t, err)
	}
	must(t, radio.Do(func() error {
		cable, err := linkemu.Join("left", "right", ways[0], ways[1])
		if err == nil {
			t.Cleanup(func() { _ = cable.Close() }) // an interface that was pulled has ended it before
		}
		return err
	}))
	do(t, a, fmt.Sprintf("ip route add default via 192.168.8.1 dev u%d metric %d", i, 100*i))
}

// sticks is node A with two sticks and no other uplink, and node B far away.
func sticks(t *testing.T, addrs [2]string, start func(*tunnel.Node) error) (*fabric.Fabric, *tunnel.Node, *tunnel.Node) {
	t.Helper()
	f := network(t, fabric.Spec{HostsA: 5})
	do(t, f.A(1), "ip link set eth0 down")
	for i, addr := range addrs {
		plugStick(t, f, i+1, addr)
	}
	a := node(t, f.A(1), "a", tunnel.Config{Address: inner(1), Interfaces: []string{"u1", "u2"}})
	b := node(t, f.B(1), "b", tunnel.Config{Address: inner(2)})
	at := netip.AddrPortFrom(f.B(1).Addr4(), tunnel.DefaultPort)
	a.Config.Peers = []tunnel.Peer{{Name: "b", PublicKey: b.PublicKey, Endpoints: []netip.AddrPort{at}, AllowedIPs: inner(2), Keepalive: time.Second}}
	b.Config.Peers = []tunnel.Peer{{Name: "a", PublicKey: a.PublicKey, AllowedIPs: inner(1)}}
	must(t, b.Start())
	must(t, start(a))
	must(t, a.Await(tunnel.Inner4(2)))
	return f, a, b
}

// lostWithin is how many of n pings, one each 100 ms, get no answer.
func lostWithin(t *testing.T, f *fabric.Fabric, n int) int {
	t.Helper()
	out, _ := f.A(1).Run("ping", "-n", "-i", "0.1", "-W", "2", "-c", fmt.Sprint(n), tunnel.Inner4(2).String())
	var sent, got int
	for line := range strings.Lines(out) {
		if _, err := fmt.Sscanf(line, "%d packets transmitted, %d received", &sent, &got); err == nil {
			return sent - got
		}
	}
	t.Fatalf("ping: %s", out)
	return 0
}

// shareOfBoth is one TCP flow's least share of the sum of both sticks.
const shareOfBoth = 0.85

// lostToDeath bounds the lost pings when the uplink that carries them dies.
const lostToDeath = 4

// TestTwoUplinksWithOneAddress has two LTE sticks that give the host the same address. Both
// carry traffic, one outlives the other, and commands name each by its interface.
func TestTwoUplinksWithOneAddress(t *testing.T) {
	long(t)
	f, a, b := sticks(t, [2]string{stickAddr, stickAddr}, (*tunnel.Node).Start)
	await(t, "paths by both", func() bool { return pathsBy(t, a, "u1") > 0 && pathsBy(t, a, "u2") > 0 })
	await(t, "lines for both", func() bool {
		return strings.Contains(a.Log(), "uplink-up: uplink 192.168.8.100 (u1): ") && strings.Contains(a.Log(), "uplink-up: uplink 192.168.8.100 (u2): ")
	})
	bothCarry(t, f)

	for _, name := range []string{"u1", "u2"} {
		down, up := says(t, a, `uplink-down: uplink 192\.168\.8\.100 \(`+name+`\): no path`), says(t, a, `uplink-up: uplink 192\.168\.8\.100 \(`+name+`\): `)
		stick := f.A(int(name[1]-'0') + 1)
		dies := make(chan struct{})
		go func() {
			defer close(dies)
			time.Sleep(time.Second)
			_, _ = stick.Run("ip", "link", "set", "eth0", "down")
		}()
		lost := lostWithin(t, f, 60)
		<-dies
		if t.Logf("%s dies: %d of 60 pings lost", name, lost); lost > lostToDeath {
			t.Errorf("want %d at most", lostToDeath)
		}
		iperf(t, f, tunnel.Inner4(2)) // only traffic shows that a path is dead
		down()
		if n := pathsBy(t, a, name); n > 0 {
			t.Errorf("show has %d paths in use by %s, which is dead", n, name)
		}
		do(t, stick, "ip link set eth0 up; ip route replace default via "+gateway(stick))
		up()
		await(t, "paths by "+name, func() bool { return pathsBy(t, a, name) > 0 })
	}
	bothCarry(t, f)
	replug(t, f, a)
	seesBoth(t, a, b)
}

// TestUnlistedStickCarriesNothing has three sticks with one address, and lists two of them while the
// tunnel runs. The third has the best route, and yet nothing leaves there any more.
func TestUnlistedStickCarriesNothing(t *testing.T) {
	side(t)
	for name, before := range map[string]string{"by the routes": "", "by its name": "u1,u2,u3", "by the address": stickAddr} {
		t.Run(name, func(t *testing.T) {
			f, a, _ := sticks(t, [2]string{stickAddr, stickAddr}, (*tunnel.Node).Start)
			do(t, f.A(1), "ip link add u3 type veth peer name lan3; ip link set u3 up; ip link set lan3 up; ip addr add "+stickAddr+"/24 dev u3")
			for _, setting := range []string{"paths.local=" + before, "paths.local=u2,u3"} {
				if err := a.Set(setting); err != nil {
					t.Fatal(err)
				}
				if lost := lostWithin(t, f, 20); lost > lostToDeath {
					t.Errorf("%s: %d of 20 pings lost", setting, lost)
				}
			}
			do(t, f.A(1), `nft 'table ip count { counter u1 { }; chain out { type filter hook postrouting priority 0; oifname u1 meta l4proto udp counter name u1; }; }'`)
			const sent = "nft list counter ip count u1 | grep packets"
			n := do(t, f.A(1), sent)
			lostWithin(t, f, 20)
			if now := do(t, f.A(1), sent); now != n {
				t.Errorf("u1 still carries: %s", strings.TrimSpace(now))
			}
			for _, other := range []string{"", "u1"} {
				if n := pathsBy(t, a, other); n > 0 {
					t.Errorf("show has %d paths in use by interface %q", n, other)
				}
			}
		})
	}
}

// TestAddressOfSeveralInterfacesIsDoubted lists an address that two interfaces have, alone and beside
// one of the interfaces. The address names no uplink then, and check says so.
func TestAddressOfSeveralInterfacesIsDoubted(t *testing.T) {
	side(t)
	_, a, _ := sticks(t, [2]string{stickAddr, stickAddr}, (*tunnel.Node).Start)
	for setting, want := range map[string]string{
		stickAddr:         "192.168.8.100 is an address of u1 and of u2: the routes choose one of these interfaces; write the names of the interfaces instead",
		stickAddr + ",u2": "192.168.8.100 is an address of u2, and another entry names that interface: the entry with the address is not used",
		"u1,u2":           "",
	} {
		out, err := exec.Command(bin, "set", a.Name, "paths.local="+setting).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if text := string(out); want == "" && strings.Contains(text, "warning") || !strings.Contains(text, want) {
			t.Errorf("paths.local=%s: want %q: %s", setting, want, text)
		}
	}
}

// TestTwoUplinksBehindOneGateway is the same with two addresses in one network.
func TestTwoUplinksBehindOneGateway(t *testing.T) {
	long(t)
	f, a, _ := sticks(t, [2]string{stickAddr, "192.168.8.101"}, (*tunnel.Node).Start)
	await(t, "paths by both", func() bool { return pathsBy(t, a, "u1") > 0 && pathsBy(t, a, "u2") > 0 })
	bothCarry(t, f)
	// The file names addresses, which go by the routes, and then the interfaces again.
	reloads := func(interfaces []string, addrs []netip.Addr, then func() bool) {
		t.Helper()
		a.Config.Interfaces, a.Config.Local = interfaces, addrs
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(500 * time.Millisecond)
			reload(t, a, a.Config.Peers)
		}()
		if lost := lostWithin(t, f, 30); lost > lostToDeath {
			t.Errorf("paths.local is %v %v: %d of 30 pings lost", interfaces, addrs, lost)
		}
		<-done
		await(t, "paths as they are to be", then)
	}
	reloads(nil, []netip.Addr{netip.MustParseAddr(stickAddr), netip.MustParseAddr("192.168.8.101")}, func() bool { return pathsBy(t, a, "") > 0 && pathsBy(t, a, "u1") == 0 })
	reloads([]string{"u1", "u2"}, nil, func() bool { return pathsBy(t, a, "u1") > 0 && pathsBy(t, a, "u2") > 0 && pathsBy(t, a, "") == 0 })
	down := says(t, a, `uplink-down: uplink 192\.168\.8\.100 \(u1\): no path`)
	do(t, f.A(2), "ip link set eth0 down")
	if lost := lostWithin(t, f, 20); lost > lostToDeath {
		t.Errorf("u1 is dead: %d of 20 pings lost", lost)
	}
	iperf(t, f, tunnel.Inner4(2))
	down()
}

// gateway is the leaf's address on the link of h.
func gateway(h *fabric.Host) string {
	v := h.Addr4().As4()
	v[3] = 1
	return netip.AddrFrom4(v).String()
}

// bothCarry sends one TCP flow through the tunnel. It must fill both sticks.
func bothCarry(t *testing.T, f *fabric.Fabric) {
	t.Helper()
	before := [2]uint64{sentBytes(t, f, "u1"), sentBytes(t, f, "u2")}
	got := iperf(t, f, tunnel.Inner4(2), "-t", "8", "-O", "2")
	by := [2]uint64{sentBytes(t, f, "u1") - before[0], sentBytes(t, f, "u2") - before[1]}
	t.Logf("%.1f Mbit/s; %d bytes by u1, %d by u2", got.Forward/1e6, by[0], by[1])
	if got.Forward < shareOfBoth*2*stickMbit*1e6 {
		t.Errorf("want %.1f Mbit/s", shareOfBoth*2*stickMbit)
	}
}

// replug pulls a stick and plugs it in again: the interface has its name and another number.
func replug(t *testing.T, f *fabric.Fabric, a *tunnel.Node) {
	t.Helper()
	down := says(t, a, `uplink-down: uplink 192\.168\.8\.100 \(u2\): `)
	do(t, f.A(1), "ip link del u2")
	if lost := lostWithin(t, f, 20); lost > lostToDeath {
		t.Errorf("u2 was pulled: %d of 20 pings lost", lost)
	}
	down()
	up := says(t, a, `uplink-up: uplink 192\.168\.8\.100 \(u2\): `)
	plugStick(t, f, 2, stickAddr)
	up()
	await(t, "paths by u2 again", func() bool { return pathsBy(t, a, "u2") > 0 })
	bothCarry(t, f)
}

// seesBoth checks the output of the commands.
func seesBoth(t *testing.T, a, _ *tunnel.Node) {
	t.Helper()
	for _, args := range [][]string{{"show", a.Name}, {"show", "paths", a.Name}, {"netcheck", a.Name}, {"ping", "-c", "1", a.Name, "b"}} {
		out, _ := a.Host.Run(bin, args...)
		for _, name := range []string{"u1", "u2"} {
			if !strings.Contains(out, stickAddr+"%"+name) {
				t.Errorf("srdtun %v does not have %s%%%s:\n%s", args, stickAddr, name, out)
			}
		}
	}
}

// TestUplinksWithOneAddressChange has two sticks with one address. It restarts the daemon,
// renames an interface, and moves addresses from one to the other. Traffic goes on, and
// commands name each uplink by its present interface.
func TestUplinksWithOneAddressChange(t *testing.T) {
	long(t)
	var m *tunnel.Manager
	f, a, _ := sticks(t, [2]string{stickAddr, stickAddr}, func(a *tunnel.Node) (err error) {
		if m, err = tunnel.NewManager(a); err != nil {
			return err
		}
		t.Cleanup(m.Close)
		return a.StartUnder(m)
	})
	both := func() bool { return pathsBy(t, a, "u1") > 0 && pathsBy(t, a, "u2") > 0 }
	await(t, "paths by both", both)
	change := func(what, script string, then func() bool) {
		t.Helper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			time.Sleep(500 * time.Millisecond)
			if script != "" {
				do(t, f.A(1), script)
				return
			}
			if err := a.Stop(); err != nil {
				t.Error(err)
			}
			if err := a.StartUnder(m); err != nil {
				t.Error(err)
			}
		}()
		lost := lostWithin(t, f, 30)
		<-done
		if t.Logf("%s: %d of 30 pings lost", what, lost); lost > lostToDeath {
			t.Errorf("%s: %d of 30 pings lost", what, lost)
		}
		await(t, "paths as they are to be: "+what, then)
	}
	change("another process", "", both)
	change("u2 has another name", "ip link set u2 name x2", func() bool { return pathsBy(t, a, "u1") > 0 && pathsBy(t, a, "u2") == 0 && pathsBy(t, a, "x2") == 0 })
	change("and its own again", "ip link set x2 name u2", both)
	change("u1 has another address as well", "ip addr add 192.168.8.102/24 dev u1", func() bool { return both() && pathsFrom(t, a, "192.168.8.102:") > 0 })
	change("the first one has gone from u1", "ip addr del 192.168.8.100/24 dev u1; ip addr replace 192.168.8.102/24 dev u1; ip route replace default via 192.168.8.1 dev u1 metric 100", both)
	change("u1 has that of u2 again, which has u1's", `ip addr add 192.168.8.100/24 dev u1
		ip addr add 192.168.8.102/24 dev u2
		ip addr del 192.168.8.102/24 dev u1 || true
		ip addr del 192.168.8.100/24 dev u2
		ip addr replace 192.168.8.100/24 dev u1; ip addr replace 192.168.8.102/24 dev u2
		ip route replace default via 192.168.8.1 dev u1 metric 100
		ip route replace default via 192.168.8.1 dev u2 metric 200`, both)
	change("a third interface has the address as well", "ip link add d0 type veth peer name d1; ip addr add 192.168.8.100/32 dev d0; ip link set d0 up; ip link set d1 up", both)
	change("u1 is down", "ip link set u1 down", func() bool { return pathsBy(t, a, "u1") == 0 && pathsBy(t, a, "u2") > 0 })
	change("u1 is up", "ip link set u1 up; ip route replace default via 192.168.8.1 dev u1 metric 100", both)
}
