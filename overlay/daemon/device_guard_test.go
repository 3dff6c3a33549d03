package daemon

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
)

// The guard restores and reports removed settings. When the daemon ends, it removes them.
func TestRoutesArePutBack(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	r := up(t, parse(t))
	ip(t, "link", "set", "srdd0", "down")
	r.told(events.DeviceDown)
	until(t, "the fault in the status", func() bool { return slices.ContainsFunc(faults(t), setDown) })
	ip(t, "link", "set", "srdd0", "up")
	if e := r.told(events.RoutesRestored); !strings.Contains(e.Text, "fd80::1/64") || !strings.Contains(e.Text, "10.81.0.0/16") {
		t.Errorf("told %q", e.Text)
	}
	r.told(events.DeviceUp)
	until(t, "a status without the fault", func() bool { return !slices.ContainsFunc(faults(t), setDown) })
	wantUp(t)
	r.cancel()
	r.wait()
	sameState(t, run, before)
}

func faults(t *testing.T) []string {
	t.Helper()
	c := dial(t, "srdd0")
	defer c.Close() // the test counts descriptors at its end
	st, err := c.Show()
	must(t, err)
	return st.Faults
}

func setDown(fault string) bool {
	return fault == "srdd0 was set down: nothing passes until `ip link set srdd0 up`"
}

// If settings are removed while the daemon ends, the guard does not restore them.
func TestNothingComesBackAtTheEnd(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	for range 5 {
		r := up(t, parse(t))
		ip(t, "addr", "flush", "dev", "srdd0")
		r.cancel()
		r.wait()
		sameState(t, run, before)
	}
}

func TestGuardGivesWay(t *testing.T) {
	var g guarding
	now := time.Unix(1e9, 0)
	for i := range guardBurst {
		if d := g.wait(now); d != 0 {
			t.Fatalf("it waits %v after %d times", d, i)
		}
		g.used++
	}
	d := g.wait(now)
	if d <= 0 || d > guardEvery {
		t.Fatalf("after %d times at once it waits %v", guardBurst, d)
	}
	if later := g.wait(now.Add(d)); later != 0 {
		t.Errorf("after that wait it waits %v", later)
	}
	g.used++
	if later := g.wait(now.Add(d)); later <= 0 {
		t.Error("once more at once")
	}
	if later := g.wait(now.Add(time.Hour)); later != 0 || g.used != 0 {
		t.Errorf("after an hour it waits %v, %d are counted", later, g.used)
	}
}

// Settings that were removed together are restored together. The report has one line for each kind
// of setting.
func TestWhatIsTakenAwayComesBack(t *testing.T) {
	full := []string{`"10.81.0.0/16"`, `"0.0.0.0/0"`}
	for _, c := range []struct {
		hurt   string
		change []string // changes of the configuration
	}{
		{"link set srdd0 down; link set srdd0 up", nil},
		{"addr flush dev srdd0", nil},
		{"-6 addr flush dev srdd0", nil},
		{"route flush dev srdd0", nil},
		{"-6 route flush dev srdd0", nil},
		{"route del 10.81.0.0/16 dev srdd0", nil},
		{"rule flush", full},
		{"route flush table 51564", full},
	} {
		t.Run(c.hurt, func(t *testing.T) {
			run := runDir(t)
			before := state(t, run)
			r := up(t, parse(t, c.change...))
			was := settled(t)
			for _, v := range strings.Split(c.hurt, "; ") {
				ip(t, strings.Fields(v)...)
			}
			if c.hurt == "rule flush" { // this also removes the rules of every host
				ip(t, "rule", "add", "priority", "32766", "lookup", "main")
				ip(t, "rule", "add", "priority", "32767", "lookup", "default")
			}
			r.told(events.RoutesRestored)
			until(t, "all to be there", func() bool { return slices.Equal(outside(t), was) })
			time.Sleep(3 * settle)
			if n := r.count(events.RoutesRestored); n != 1 || r.count(events.RoutesLost) > 0 {
				t.Errorf("told %d times: %q", n, texts(r.server.log))
			}
			r.cancel()
			r.wait()
			sameState(t, run, before)
		})
	}
}

// outside returns the settings that other programs can remove, sorted.
func outside(t *testing.T) []string {
	t.Helper()
	v := slices.DeleteFunc(state(t, t.TempDir()), func(s string) bool { return strings.HasPrefix(s, "descriptors ") })
	slices.Sort(v)
	return v
}

// settled returns the result of outside() once it no longer changes, because the kernel adds the
// route of an IPv6 address with a delay.
func settled(t *testing.T) (v []string) {
	t.Helper()
	until(t, "the kernel's routes", func() bool {
		v = outside(t)
		return slices.ContainsFunc(v, func(s string) bool { return strings.Contains(s, "Dst: fd80::1/128") })
	})
	return v
}

// Repeated failures of a repair are reported once, and so is its success.
func TestLostRoutesAreTold(t *testing.T) {
	for name, back := range map[string][]string{
		"it can be put back":         {"device-down", "device-up", "routes-restored"},
		"somebody else puts it back": {"routes-restored"},
	} {
		t.Run(name, func(t *testing.T) {
			s := opened(t)
			g := new(guarding)
			s.wantRestored(t, g, guardLook)
			ip(t, "addr", "add", "10.80.0.1/32", "dev", "lo")
			ip(t, "addr", "del", "10.80.0.1/24", "dev", "srdd0")
			said := s.wantRestored(t, g, guardRetry, "routes-restored", "routes-lost")
			if last := said[len(said)-1]; !strings.Contains(last, "address 10.80.0.1/24: lo has it now") {
				t.Errorf("told %q", last)
			}
			for range 3 {
				s.wantRestored(t, g, guardRetry)
				if got := s.device.faults(); !slices.Equal(got, []string{"srdd0: not put back: address 10.80.0.1/24: lo has it now"}) {
					t.Errorf("faults %q", got)
				}
			}
			if len(back) > 1 {
				ip(t, "link", "set", "srdd0", "down")
				s.wantRestored(t, g, guardLook, back[0])
				ip(t, "link", "set", "srdd0", "up")
				back = back[1:]
			}
			ip(t, "addr", "del", "10.80.0.1/32", "dev", "lo")
			if len(back) == 1 {
				ip(t, "addr", "add", "10.80.0.1/24", "dev", "srdd0")
			}
			s.wantRestored(t, g, guardLook, back...)
			s.wantRestored(t, g, guardLook)
			if got := s.device.faults(); got != nil {
				t.Errorf("faults %q", got)
			}
		})
	}
}

// If IPv6 is switched off, a tunnel without IPv4 carries nothing. The status names this until the
// interface has an IPv4 address.
func TestNothingPassesWithoutIPv6(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	r := up(t, parse(t, `"10.80.0.1/24", `, "", `"10.80.0.2/32", "10.81.0.0/16", `, "", `"10.80.0.3/32"`, `"fd82::/64"`))
	off := func(fault string) bool {
		return fault == "IPv6 is off on srdd0, which has no IPv4 address or route: nothing passes until `sysctl net.ipv6.conf.srdd0.disable_ipv6=0`"
	}
	if v := faults(t); len(v) > 0 {
		t.Errorf("with IPv6: %q", v)
	}
	must(t, os.WriteFile("/proc/sys/net/ipv6/conf/srdd0/disable_ipv6", []byte("1"), 0))
	until(t, "the fault in the status", func() bool { return slices.ContainsFunc(faults(t), off) })
	_, err := r.server.Change(control.Change{How: control.HowSet, Settings: []control.Setting{{Key: "interface.address", Value: "fd80::1/64,10.80.0.1/24"}}})
	must(t, err)
	if v := faults(t); slices.ContainsFunc(v, off) {
		t.Errorf("with an IPv4 address: %q", v)
	}
	r.cancel()
	r.wait()
	sameState(t, run, before)
}

// wantRestored calls restore once. It expects events of the given kinds, and the time `again` until
// the next check.
func (s *server) wantRestored(t *testing.T, g *guarding, again time.Duration, kinds ...string) (said []string) {
	t.Helper()
	n := len(texts(s.log))
	if d := s.device.restore(g); d != again {
		t.Errorf("it looks again after %v, want %v", d, again)
	}
	said = texts(s.log)[n:]
	var got []string
	for _, line := range said {
		kind, _, _ := strings.Cut(line, " ")
		got = append(got, kind)
	}
	if !slices.Equal(got, kinds) {
		t.Errorf("told %q, want %q", said, kinds)
	}
	return said
}
