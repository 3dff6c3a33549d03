package daemon

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/steer"
)

// The configuration accepts the names of all existing policies, and no others.
func TestEveryPolicyIsConfigurable(t *testing.T) {
	if v := steer.Names(); !slices.Equal(v, config.Policies) || v[0] != config.DefaultPolicy {
		t.Errorf("policies %q, configurable %q, default %q", v, config.Policies, config.DefaultPolicy)
	}
}

// The policies accept every value that the configuration accepts.
func TestEverySettingIsTaken(t *testing.T) {
	for _, doc := range []string{
		`flowlet_timeout = "10us"
local = ["lo", "192.0.2.1"]
weights = [1, 1000]
primary = "192.0.2.1"
flowcell = 1500
dre_alpha = 0.01
dre_period = "1us"
link_mbit = 1`,
		`flowlet_timeout = "10s"
flowcell = 67108864
dre_alpha = 0.99
dre_period = "100ms"
link_mbit = 1000000`,
	} {
		s := newServer(parse(t, "[paths]\n", "[paths]\n"+doc+"\n"), newEventLog(false))
		for _, name := range config.Policies {
			if _, err := s.running.policy(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestSet(t *testing.T) {
	runDir(t)
	r := up(t, parse(t, `name = "near"`, "name = \"near\"\npolicy = \"letflow\""))
	c, err := control.Dial(rundir.Place{Device: "srdd0"})
	must(t, err)
	defer c.Close()
	want := func(near, named string) {
		t.Helper()
		st, err := c.Show()
		must(t, err)
		if a, b := st.Peers[0].Policy, st.Peers[1].Policy; a != near || b != named {
			t.Errorf("policies %s and %s, want %s and %s", a, b, near, named)
		}
	}
	want("letflow", "spray")
	for _, step := range []struct{ key, value, near, named, fault string }{
		{"peer.named.policy", "conga", "letflow", "conga", ""},
		{"paths.policy", "presto", "presto", "presto", ""},
		{"peer." + key(t, 2) + ".policy", "ecmp", "ecmp", "presto", ""},
		{"paths.policy", "prest", "ecmp", "presto", `paths.policy: unknown policy "prest"; known: spray, ecmp`},
		{"peer.far.policy", "ecmp", "ecmp", "presto", `no peer is named "far"`},
		{"interface.mtu", "9000", "ecmp", "presto", `interface.mtu cannot be changed while running: change it in srdd0.toml, and restart`},
		{"peer.named.nam", "x", "ecmp", "presto", `"peer.named.nam" is not a key; the nearest is name in [[peer]]`},
		{"", "", "ecmp", "presto", `"" is not a key`},
	} {
		_, err := c.Change(control.Change{How: control.HowSet, Settings: []control.Setting{{Key: step.key, Value: step.value}}})
		if (err == nil) != (step.fault == "") || err != nil && !strings.Contains(err.Error(), step.fault) {
			t.Errorf("%s=%s: %v", step.key, step.value, err)
		}
		want(step.near, step.named)
	}
	r.cancel()
	r.wait()
}

// A path's class is the index of the entry of paths.local to which its uplink belongs. If one entry
// names an interface, another entry with an address of that interface has no uplink.
func TestClassesAreUplinks(t *testing.T) {
	s := newServer(parse(t, "[paths]\n", "[paths]\nlocal = [\"192.0.2.1\", \"lo\", \"127.0.0.1\", \"192.0.2.2\"]\n"), newEventLog(false))
	s.uplinks.host.look(nil)
	s.uplinks.sourcesFor(netip.MustParseAddrPort("127.0.0.9:1"))
	const lo = 1
	of := func(text string) srd.Uplink { return srd.UplinkOf(netip.MustParseAddr(text), 0) }
	for u, want := range map[srd.Uplink]int{of("192.0.2.1"): 0, of("127.0.0.1").At(lo): 1, of("192.0.2.2"): 3, of("127.0.0.1"): 0, of("198.51.100.1"): 0} {
		if got := s.uplinks.classes.class(srd.Tuple{Local: u}); got != want {
			t.Errorf("%v is of class %d, want %d", u, got, want)
		}
	}
	// An address moves from one interface to another one.
	s.uplinks.classes.set(0, nil)
	s.uplinks.classes.set(3, []srd.Uplink{of("192.0.2.1")})
	if got := s.uplinks.classes.class(srd.Tuple{Local: of("192.0.2.1")}); got != 3 {
		t.Errorf("the address that moved is of class %d", got)
	}
	if got := s.uplinks.classes.class(srd.Tuple{}); got != 0 {
		t.Errorf("an address not known yet is of class %d", got)
	}
}
