package netconf

import (
	"testing"

	"github.com/vishvananda/netlink"
)

// A process passes its interface on to the next process, which removes all settings at its end.
func TestAdopt(t *testing.T) {
	host(t)
	before := snapshot(t)
	link := addLink(t, "srd0")
	plan := Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Addresses: prefixes("10.9.0.1/24"), Routes: prefixes("0.0.0.0/0", "10.3.0.0/16")}
	first, err := Apply(plan)
	must(t, err)
	applied := snapshot(t)
	second, err := Adopt(plan, first.FwMark)
	must(t, err)
	wantChange(t, applied, nil, nil)
	if second.FwMark != first.FwMark || second.FwMark == 0 {
		t.Errorf("mark %d, want %d", second.FwMark, first.FwMark)
	}
	must(t, netlink.LinkDel(link))
	must(t, second.Revert())
	wantChange(t, before, nil, nil)
	wantNoFile(t, plan.StateFile)
}

func TestAdoptWithoutRules(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	plan := Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Addresses: prefixes("10.9.0.1/24")}
	_, err := Apply(plan)
	must(t, err)
	s, err := Adopt(plan, 0)
	must(t, err)
	must(t, s.Revert())
}
