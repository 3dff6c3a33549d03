package netconf

import (
	"context"
	"net"
	"net/netip"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// patience bounds the wait for kernel messages that do not arrive.
const patience = 10 * time.Second

// ip runs ip(8) in the test's namespace.
func ip(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("ip", args...).CombinedOutput(); err != nil {
		t.Fatalf("ip %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// fullTunnel returns a plan with every kind of setting.
func fullTunnel(t *testing.T) Plan {
	return Plan{Link: "srd0", StateFile: stateFile(t, "srd0"),
		Addresses: prefixes("10.9.0.1/24", "10.8.0.1/32", "fd00:9::1/64"),
		Routes:    prefixes("0.0.0.0/0", "::/0", "10.7.0.0/16", "fd00:7::/48")}
}

func TestRestore(t *testing.T) {
	for _, tt := range []struct {
		name string
		hurt [][]string
		back []string
	}{
		{"nothing", nil, nil},
		{"down and up", [][]string{{"link", "set", "srd0", "down"}, {"link", "set", "srd0", "up"}},
			[]string{"address fd00:9::1/64", "route 10.7.0.0/16", "route fd00:7::/48", "route 0.0.0.0/0", "route ::/0"}},
		{"addresses flushed", [][]string{{"addr", "flush", "dev", "srd0"}},
			[]string{"address 10.9.0.1/24", "address 10.8.0.1/32", "address fd00:9::1/64", "route 10.7.0.0/16", "route 0.0.0.0/0"}},
		{"a route", [][]string{{"route", "del", "10.7.0.0/16"}}, []string{"route 10.7.0.0/16"}},
		{"rules", [][]string{{"rule", "del", "pref", "32765"}, {"-6", "rule", "del", "pref", "32764"}},
			[]string{"rule 32765", "rule 32764"}},
		{"a table", [][]string{{"route", "flush", "table", "51564"}}, []string{"route 0.0.0.0/0"}},
		{"the main table", [][]string{{"route", "flush", "dev", "srd0"}, {"-6", "route", "flush", "dev", "srd0"}},
			[]string{"route 10.9.0.0/24", "route fd00:9::/64", "route 10.7.0.0/16", "route fd00:7::/48"}},
		{"a new name", [][]string{{"link", "set", "srd0", "down"}, {"link", "set", "srd0", "name", "srd9"}, {"link", "set", "srd9", "up"}},
			[]string{"address fd00:9::1/64", "route 10.7.0.0/16", "route fd00:7::/48", "route 0.0.0.0/0", "route ::/0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			host(t)
			addLink(t, "srd0")
			s, err := Apply(fullTunnel(t))
			must(t, err)
			want := routesAndRules(t)
			for _, args := range tt.hurt {
				ip(t, args...)
			}
			r := s.Restore()
			if r.Fault != nil || r.Down || r.Gone || !slices.Equal(r.Back, tt.back) {
				t.Errorf("put back %q, %+v; want %q", r.Back, r, tt.back)
			}
			if got := routesAndRules(t); !slices.Equal(got, want) {
				t.Errorf("it is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if again := s.Restore(); again.Back != nil || again.Fault != nil {
				t.Errorf("a second time: %+v", again)
			}
			must(t, s.Revert())
		})
	}
}

// routesAndRules returns the snapshot without the names and flags of interfaces.
func routesAndRules(t *testing.T) (v []string) {
	t.Helper()
	for _, line := range snapshot(t) {
		if !strings.HasPrefix(line, "link ") {
			v = append(v, strings.ReplaceAll(line, "srd9", "srd0"))
		}
	}
	slices.Sort(v)
	return v
}

// If an administrator changed the metric of an address, and so of its route, Restore leaves it.
func TestRestoreLeavesMetrics(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	s, err := Apply(fullTunnel(t))
	must(t, err)
	ip(t, "addr", "change", "10.9.0.1/24", "dev", "srd0", "metric", "50")
	ip(t, "-6", "addr", "change", "fd00:9::1/64", "dev", "srd0", "metric", "50")
	before := routesAndRules(t)
	if r := s.Restore(); len(r.Back) != 0 || r.Fault != nil {
		t.Errorf("Restore = %+v", r)
	}
	if got := routesAndRules(t); !slices.Equal(got, before) {
		t.Errorf("it changed\n%s\nto\n%s", strings.Join(before, "\n"), strings.Join(got, "\n"))
	}
	must(t, s.Revert())
}

// If another program has replaced a setting with its own, Restore leaves that one.
func TestRestoreLeavesOthersAlone(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	s, err := Apply(fullTunnel(t))
	must(t, err)
	ip(t, "route", "replace", "10.7.0.0/16", "dev", "eth0")
	ip(t, "addr", "del", "10.9.0.1/24", "dev", "srd0")
	ip(t, "addr", "add", "10.9.0.1/24", "dev", "eth0")
	before := routesAndRules(t)
	r := s.Restore()
	if len(r.Back) != 0 || r.Fault == nil || !strings.Contains(r.Fault.Error(), "10.9.0.1/24: eth0 has it") {
		t.Errorf("Restore = %+v", r)
	}
	if got := routesAndRules(t); !slices.Equal(got, before) {
		t.Errorf("it changed\n%s\nto\n%s", strings.Join(before, "\n"), strings.Join(got, "\n"))
	}
	must(t, s.Revert())
}

// Restore does not bring an interface up that was set down.
func TestRestoreWhileDown(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	s, err := Apply(fullTunnel(t))
	must(t, err)
	ip(t, "link", "set", "srd0", "down")
	before := routesAndRules(t)
	if r := s.Restore(); !r.Down || r.Back != nil || r.Fault != nil {
		t.Errorf("Restore = %+v", r)
	}
	if got := routesAndRules(t); !slices.Equal(got, before) {
		t.Errorf("it changed\n%s\nto\n%s", strings.Join(before, "\n"), strings.Join(got, "\n"))
	}
	must(t, s.Revert())
}

// Restore must restore nothing after Revert, or if the interface no longer exists.
func TestRestoreAfterTheEnd(t *testing.T) {
	host(t)
	link := addLink(t, "srd0")
	s, err := Apply(fullTunnel(t))
	must(t, err)
	must(t, s.Revert())
	before := snapshot(t)
	if r := s.Restore(); r.Back != nil || r.Fault != nil || r.Down || r.Gone {
		t.Errorf("after Revert: %+v", r)
	}
	wantChange(t, before, nil, nil)
	s, err = Apply(fullTunnel(t))
	must(t, err)
	must(t, netlink.LinkDel(link))
	before = snapshot(t)
	if r := s.Restore(); !r.Gone || r.Back != nil {
		t.Errorf("without the interface: %+v", r)
	}
	wantChange(t, before, nil, nil)
	must(t, s.Revert())
}

// The daemon of the shipped unit has CAP_NET_ADMIN as its only capability.
func TestRestoreWithNetAdminAlone(t *testing.T) {
	asNobody(t, unix.CAP_NET_ADMIN, func(t *testing.T) {
		s, err := Apply(fullTunnel(t))
		must(t, err)
		w, err := s.Watch()
		must(t, err)
		defer w.Close()
		link, err := netlink.LinkByName("srd0")
		must(t, err)
		must(t, netlink.LinkSetDown(link))
		must(t, netlink.LinkSetUp(link))
		if !w.Wait(context.Background(), time.Now().Add(patience)) {
			t.Error("no news of it")
		}
		if r := s.Restore(); len(r.Back) != 5 || r.Fault != nil {
			t.Errorf("Restore = %+v", r)
		}
		must(t, s.Revert())
	})
}

func TestWatch(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	addLink(t, "eth1")
	s, err := Apply(fullTunnel(t))
	must(t, err)
	must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: s.index, Dst: ipNet(netip.MustParsePrefix("10.6.0.0/16"))}))
	for _, tt := range []struct {
		args string
		news bool
	}{
		{"addr add 10.5.5.5/24 dev srd0", false}, // additions do not matter; the daemon itself adds settings
		{"addr del 10.5.5.5/24 dev srd0", true},
		{"route del 10.6.0.0/16", true},
		{"rule add pref 100 table 7", false},
		{"rule del pref 100", true},
		{"link set srd0 down", true},
		{"link set srd0 up", true},
		{"link set eth1 up", false},
		{"addr add 10.4.4.4/24 dev eth1", false},
		{"addr del 10.4.4.4/24 dev eth1", false},
		{"link del eth1", false},
	} {
		settled(t, "srd0")
		w, err := s.Watch()
		must(t, err)
		ip(t, strings.Fields(tt.args)...)
		// The kernel's messages about the command are already in the socket's buffer.
		if got := w.pending(); got != tt.news {
			t.Errorf("ip %s: news %v, want %v", tt.args, got, tt.news)
		}
		must(t, w.Close())
	}
	must(t, s.Revert())
}

// settled waits until the kernel has announced that the interface carries packets. The announcement
// may come up to a second after the interface was set up.
func settled(t *testing.T, name string) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(time.Millisecond) {
		link, err := netlink.LinkByName(name)
		must(t, err)
		if a := link.Attrs(); a.OperState == netlink.OperUp || a.Flags&net.FlagUp == 0 {
			return
		}
	}
	t.Fatalf("%s does not come up", name)
}

// pending reports, without waiting, whether a relevant message has arrived.
func (w *Watcher) pending() bool {
	b := make([]byte, 1<<16)
	raw, err := w.file.SyscallConn()
	if err != nil {
		return false
	}
	news := false
	raw.Read(func(fd uintptr) bool {
		for {
			n, _, err := unix.Recvfrom(int(fd), b, unix.MSG_DONTWAIT)
			if err != nil {
				return true
			}
			news = news || w.matters(b[:n])
		}
	})
	return news
}

func TestWatchEnds(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	s, err := Apply(fullTunnel(t))
	must(t, err)
	defer s.Revert()
	w, err := s.Watch()
	must(t, err)
	defer w.Close()
	if !w.Wait(context.Background(), time.Now().Add(-time.Second)) {
		t.Error("a time that has come ends the wait with false")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if w.Wait(ctx, time.Now().Add(patience)) {
		t.Error("after the end of the context there are news")
	}
}

// Only messages from the kernel count. Their sender has the netlink port 0.
func TestNewsOfOthersAreNone(t *testing.T) {
	if !fromKernel(&unix.SockaddrNetlink{Family: unix.AF_NETLINK}) || fromKernel(&unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: 7}) || fromKernel(nil) {
		t.Error("the kernel's news are not told from others'")
	}
}

// An invalid message does no harm, although only messages of the kernel are parsed.
func FuzzMatters(f *testing.F) {
	f.Add([]byte{})
	f.Add(make([]byte, 16))
	f.Add([]byte{32, 0, 0, 0, unix.RTM_NEWLINK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	// A route message without padding after the last attribute, which the kernel never sends.
	f.Add(append([]byte{33, 0, 0, 0, unix.RTM_DELROUTE, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, append(make([]byte, 12), 5, 0, 1, 0, 9)...))
	w := &Watcher{index: 7}
	f.Fuzz(func(t *testing.T, b []byte) { w.matters(b) })
}
