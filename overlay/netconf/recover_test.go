package netconf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/vishvananda/netlink"
)

// TestKilled does not revert an applied plan, as after kill -9. The interface vanishes with its
// descriptor, and the other settings remain.
func TestKilled(t *testing.T) {
	host(t)
	before := snapshot(t)
	link := addLink(t, "srd0")
	plan := Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Addresses: prefixes("10.9.0.1/24"), Routes: prefixes("0.0.0.0/0", "::/0")}
	_, err := Apply(plan)
	must(t, err)
	must(t, netlink.LinkDel(link))
	wantChange(t, before, []string{
		"rule 32764 family 2 table 254 mark 0x0 invert false suppress 0",
		"rule 32765 family 2 table 51564 mark 0xca6c invert true suppress -1",
		"rule 32764 family 10 table 254 mark 0x0 invert false suppress 0",
		"rule 32765 family 10 table 51564 mark 0xca6c invert true suppress -1",
	}, nil)
	must(t, Recover("srd0"))
	wantChange(t, before, nil, nil)
	wantNoFile(t, plan.StateFile)
	must(t, Recover("srd0"))
}

// TestKilledInTheMiddle stops after each step of a plan, with and without removal of the interface.
// The next start must remove all leftover settings.
func TestKilledInTheMiddle(t *testing.T) {
	host(t)
	before := snapshot(t)
	plan := Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Addresses: prefixes("10.9.0.1/24"),
		Routes: prefixes("0.0.0.0/0", "10.3.0.0/16")}
	for stop := 0; ; stop++ {
		link := addLink(t, "srd0")
		s := &State{file: plan.StateFile}
		steps, err := s.plan(plan, link)
		must(t, err)
		must(t, leftovers(steps).write(plan.StateFile))
		for _, step := range steps[:stop] {
			must(t, step.do(new(netlink.Handle)))
		}
		must(t, netlink.LinkDel(link))
		must(t, Recover("srd0"))
		wantChange(t, before, nil, nil)
		if stop == len(steps) {
			break
		}
	}
}

// TestApplyAfterKill calls Apply without Recover, on an interface of the same name, while the table
// still has the old route.
func TestApplyAfterKill(t *testing.T) {
	host(t)
	link := addLink(t, "srd0")
	plan := Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Routes: prefixes("0.0.0.0/0")}
	_, err := Apply(plan)
	must(t, err)
	s, err := Apply(plan)
	must(t, err)
	if s.FwMark != sharedMark {
		t.Errorf("mark %d after the restart, want %d again", s.FwMark, sharedMark)
	}
	must(t, s.Revert())
	must(t, netlink.LinkDel(link))
}

func TestRecoverLeavesOthersAlone(t *testing.T) {
	host(t)
	link := addLink(t, "srd0")
	plan := Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Routes: prefixes("0.0.0.0/0")}
	_, err := Apply(plan)
	must(t, err)
	must(t, netlink.LinkDel(link))
	// A rule of another program for the same table must remain. If the state file names another
	// network namespace, Recover must remove nothing.
	must(t, ruleStep{Priority: 100, Table: firstTable, NotMark: sharedMark}.do(new(netlink.Handle)))
	old := snapshot(t)
	data, err := os.ReadFile(plan.StateFile)
	must(t, err)
	must(t, os.WriteFile(plan.StateFile, []byte(strings.Replace(string(data), namespace(), "net:[1]", 1)), 0o600))
	must(t, Recover("srd0"))
	wantChange(t, old, nil, nil)
	must(t, os.WriteFile(plan.StateFile, data, 0o600))
	must(t, Recover("srd0"))
	wantChange(t, old, nil, []string{
		"rule 32764 family 2 table 254 mark 0x0 invert false suppress 0",
		"rule 32765 family 2 table 51564 mark 0xca6c invert true suppress -1",
	})
}

func TestBadStateFile(t *testing.T) {
	t.Setenv(rundir.Env, t.TempDir())
	path := stateFile(t, "srd0")
	for _, tt := range []struct{ data, want string }{
		{"", "unexpected end"},
		{"{}", "format version 0"},
		{`{"version":1,"routes":[{}]}`, "no prefix"},
		{`{"version":1,"routes":[{"prefix":"10.0.0.0/99"}]}`, "prefix"},
		{strings.Repeat(" ", maxStateFile+1), "has more than"},
	} {
		must(t, os.WriteFile(path, []byte(tt.data), 0o600))
		if err := Recover("srd0"); err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("Recover of %.40q: %v, want %q and the path in it", tt.data, err, tt.want)
		}
	}
	if _, err := os.Stat(filepath.Clean(path)); err != nil {
		t.Errorf("a file that is not understood must stay: %v", err)
	}
}

func FuzzParseLeft(f *testing.F) {
	f.Add([]byte(`{"version":1,"network_namespace":"net:[1]","routes":[{"prefix":"0.0.0.0/0","table":51820,"link":"srd0","index":3}],"rules":[{"v6":false,"priority":32765,"table":51820,"not_mark":51820}]}`))
	f.Add([]byte(`null`))
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := parseLeft("f", data)
		if err != nil {
			return
		}
		for _, r := range l.Routes {
			if r.route().Dst == nil {
				t.Errorf("route %+v has no destination", r)
			}
		}
	})
}
