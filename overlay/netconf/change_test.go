package netconf

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// changed applies one plan and then changes it to another. It returns the state, and a snapshot of
// the host before both.
func changed(t *testing.T, first, second Plan) (*State, []string) {
	t.Helper()
	host(t)
	addLink(t, "srd0")
	before := snapshot(t)
	first.Link, first.StateFile = "srd0", stateFile(t, "srd0")
	s, err := Apply(first)
	must(t, err)
	second.Link, second.StateFile = first.Link, first.StateFile
	must(t, s.Change(second, func(uint32) error { return nil }))
	return s, before
}

func TestChangeRoutesAndAddresses(t *testing.T) {
	s, before := changed(t,
		Plan{Addresses: prefixes("10.9.0.1/24", "fd00:9::1/64"), Routes: prefixes("10.9.0.0/24", "10.7.0.0/16", "10.6.0.0/16")},
		// The second plan has another address of the same subnet, which the kernel makes secondary
		// to the first. It also has a route that the kernel no longer makes by itself.
		Plan{Addresses: prefixes("10.9.0.2/24", "10.8.0.1/32"), Routes: prefixes("10.7.0.0/16", "10.5.0.0/16", "fd00:9::/64")})
	wantChange(t, before, []string{
		"link srd0 mtu 1500 up true",
		"addr 10.9.0.2/24 on srd0", "addr 10.8.0.1/32 on srd0",
		"route 10.9.0.0/24 via <nil> on srd0 table 254",
		"route 10.7.0.0/16 via <nil> on srd0 table 254",
		"route 10.5.0.0/16 via <nil> on srd0 table 254",
		"route fd00:9::/64 via <nil> on srd0 table 254",
	}, []string{"link srd0 mtu 1500 up false"})
	must(t, s.Revert())
	wantChange(t, before, nil, nil)
}

// A default route is added and removed, with its mark and its rules.
func TestChangeDefaultRoute(t *testing.T) {
	s, before := changed(t, Plan{Addresses: prefixes("10.9.0.1/24")}, Plan{Addresses: prefixes("10.9.0.1/24")})
	up := snapshot(t)
	plan := Plan{Link: "srd0", StateFile: s.file, Addresses: prefixes("10.9.0.1/24"), Routes: prefixes("0.0.0.0/0")}
	if err := s.Change(plan, func(uint32) error { return unix.EPERM }); !errors.Is(err, unix.EPERM) {
		t.Errorf("%v, want that of the mark", err)
	}
	wantChange(t, up, nil, nil)
	var mark uint32
	must(t, s.Change(plan, func(m uint32) error { mark = m; wantChange(t, up, nil, nil); return nil }))
	if mark != sharedMark || s.FwMark != mark {
		t.Errorf("mark %d, of the state %d", mark, s.FwMark)
	}
	policy := []string{
		"route 0.0.0.0/0 via <nil> on srd0 table 51564",
		"rule 32764 family 2 table 254 mark 0x0 invert false suppress 0",
		"rule 32765 family 2 table 51564 mark 0xca6c invert true suppress -1",
	}
	wantChange(t, up, policy, nil)
	// Settings in both plans, and the mark, are not touched.
	plan.Routes = prefixes("0.0.0.0/0", "10.7.0.0/16")
	must(t, s.Change(plan, func(uint32) error { t.Error("marked again"); return nil }))
	wantChange(t, up, append(policy, "route 10.7.0.0/16 via <nil> on srd0 table 254"), nil)
	plan.Routes = nil
	must(t, s.Change(plan, nil))
	wantChange(t, up, nil, nil)
	must(t, s.Revert())
	wantChange(t, before, nil, nil)
}

// If adding a setting fails, all settings remain unchanged.
func TestChangeAllOrNothing(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	other := addLink(t, "srd1")
	must(t, (upStep{link: other}).do(new(netlink.Handle)))
	must(t, (routeStep{Prefix: netip.MustParsePrefix("10.7.0.0/16"), Table: tableMain, Link: "srd1", Index: other.Attrs().Index}).do(new(netlink.Handle)))
	s, err := Apply(Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Addresses: prefixes("10.9.0.1/24"), Routes: prefixes("10.6.0.0/16")})
	must(t, err)
	before, done := snapshot(t), slices.Clone(s.done)
	err = s.Change(Plan{Link: "srd0", StateFile: s.file, Addresses: prefixes("10.9.9.1/24"), Routes: prefixes("10.5.0.0/16", "10.7.0.0/16")}, nil)
	if err == nil || !strings.Contains(err.Error(), "the main routing table has one already, by srd1") {
		t.Errorf("%v", err)
	}
	wantChange(t, before, nil, nil)
	if !slices.Equal(s.done, done) {
		t.Errorf("done %v, want %v", s.done, done)
	}
}

// After a change from any plan to any other, the host is as if the second plan alone had been
// applied.
func TestChangeTwin(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	file := stateFile(t, "srd0")
	addresses := prefixes("10.9.0.1/24", "10.9.0.2/24", "10.9.1.1/32", "fd00:9::1/64", "fd00:9::2/64")
	routes := prefixes("10.9.0.0/24", "10.9.0.0/16", "10.7.0.0/16", "fd00:9::/64", "fd00:7::/48", "0.0.0.0/0", "::/0")
	some := func(t *rapid.T, of []netip.Prefix) []netip.Prefix {
		return rapid.SliceOfDistinct(rapid.SampledFrom(of), rapid.ID[netip.Prefix]).Draw(t, "some")
	}
	rapid.Check(t, func(r *rapid.T) {
		plan := func() Plan {
			return Plan{Link: "srd0", StateFile: file, Addresses: some(r, addresses), Routes: some(r, routes)}
		}
		last := plan()
		at, err := Apply(last)
		must(t, err)
		for range 3 {
			last = plan()
			must(t, at.Change(last, func(uint32) error { return nil }))
		}
		got := snapshot(t)
		must(t, at.Revert())
		at, err = Apply(last)
		must(t, err)
		want := snapshot(t)
		must(t, at.Revert())
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			r.Fatalf("%+v\ngot  %q\nwant %q", last, got, want)
		}
	})
}
