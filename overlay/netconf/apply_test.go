package netconf

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

func TestApplyAndRevert(t *testing.T) {
	host(t)
	link := addLink(t, "srd0")
	before := snapshot(t)
	s, err := Apply(Plan{Link: "srd0", MTU: 9000, StateFile: stateFile(t, "srd0"),
		Addresses: prefixes("10.9.0.1/24", "fd00:9::1/64", "10.8.0.1/32"),
		Routes:    prefixes("10.9.0.2/32", "10.9.0.0/16", "10.7.1.1/24", "10.7.1.0/24", "fd00:9::2/128", "fd00:7::/48")})
	must(t, err)
	if s.FwMark != 0 {
		t.Errorf("mark %#x without a default route, want none", s.FwMark)
	}
	wantNoFile(t, s.file) // no state file, because all of these settings vanish with the interface
	wantChange(t, before, []string{
		"link srd0 mtu 9000 up true",
		"addr 10.9.0.1/24 on srd0", "addr 10.8.0.1/32 on srd0", "addr fd00:9::1/64 on srd0",
		"route 10.9.0.0/24 via <nil> on srd0 table 254", // by the kernel
		"route fd00:9::/64 via <nil> on srd0 table 254", // by the kernel
		"route 10.9.0.0/16 via <nil> on srd0 table 254",
		"route 10.7.1.0/24 via <nil> on srd0 table 254",
		"route fd00:7::/48 via <nil> on srd0 table 254",
	}, []string{"link srd0 mtu 1500 up false"})
	addrs, err := netlink.AddrList(nil, netlink.FAMILY_V6)
	must(t, err)
	for _, a := range addrs {
		if a.LinkIndex == link.Attrs().Index && a.IP.IsLinkLocalUnicast() {
			t.Errorf("the interface has %s, want no link-local address", a.IPNet)
		}
		if a.IPNet.String() == "fd00:9::1/64" && a.Flags&unix.IFA_F_NODAD == 0 {
			t.Errorf("flags %#x of the IPv6 address, want nodad", a.Flags)
		}
	}
	must(t, s.Revert())
	wantChange(t, before, nil, nil)
	must(t, s.Revert())
}

// A process without free descriptors can still remove its settings. Otherwise they would route
// packets into an interface that no daemon reads.
func TestRevertWithoutDescriptors(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	before := snapshot(t)
	s, err := Apply(Plan{Link: "srd0", MTU: 9000, StateFile: stateFile(t, "srd0"),
		Addresses: prefixes("10.9.0.1/24"), Routes: prefixes("0.0.0.0/0", "10.7.0.0/16")})
	must(t, err)
	var was unix.Rlimit
	must(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &was))
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: was.Max}))
	_, opened := unix.Dup(0)
	err = s.Revert()
	must(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &was))
	if opened != unix.EMFILE {
		t.Fatalf("a descriptor could be had: %v", opened)
	}
	must(t, err)
	wantChange(t, before, nil, nil)
	wantNoFile(t, s.file)
}

func TestDefaultRouteByPolicy(t *testing.T) {
	host(t)
	link := addLink(t, "srd0")
	before := snapshot(t)
	s, err := Apply(Plan{Link: "srd0", StateFile: stateFile(t, "srd0"),
		Addresses: prefixes("10.9.0.1/24", "fd00:9::1/64"), Routes: prefixes("0.0.0.0/0", "::/0", "10.9.0.2/32")})
	must(t, err)
	if s.FwMark != sharedMark {
		t.Errorf("mark %d, want %d", s.FwMark, sharedMark)
	}
	wantChange(t, before, []string{
		"link srd0 mtu 1500 up true",
		"addr 10.9.0.1/24 on srd0", "addr fd00:9::1/64 on srd0",
		"route 10.9.0.0/24 via <nil> on srd0 table 254",
		"route fd00:9::/64 via <nil> on srd0 table 254",
		"route 0.0.0.0/0 via <nil> on srd0 table 51564",
		"route ::/0 via <nil> on srd0 table 51564",
		"rule 32764 family 2 table 254 mark 0x0 invert false suppress 0",
		"rule 32765 family 2 table 51564 mark 0xca6c invert true suppress -1",
		"rule 32764 family 10 table 254 mark 0x0 invert false suppress 0",
		"rule 32765 family 10 table 51564 mark 0xca6c invert true suppress -1",
	}, []string{"link srd0 mtu 1500 up false"})
	// The test checks through which interface packets are routed.
	for _, tt := range []struct {
		to   string
		mark uint32
		want string
	}{
		{"198.51.100.1", 0, "srd0"},
		{"198.51.100.1", s.FwMark, "eth0"},
		{"192.0.2.9", 0, "eth0"},
		{"2001:db8:1::1", 0, "srd0"},
		{"2001:db8:1::1", s.FwMark, "eth0"},
		{"2001:db8::9", 0, "eth0"},
	} {
		routes, err := netlink.RouteGetWithOptions(netip.MustParseAddr(tt.to).AsSlice(), &netlink.RouteGetOptions{Mark: tt.mark})
		must(t, err)
		if got := linkName(new(netlink.Handle), routes[0].LinkIndex); got != tt.want {
			t.Errorf("%s with mark %#x goes to %s, want %s", tt.to, tt.mark, got, tt.want)
		}
	}
	// The interface may be removed before its settings.
	must(t, netlink.LinkDel(link))
	must(t, s.Revert())
	wantNoFile(t, s.file)
	wantChange(t, before, nil, []string{"link srd0 mtu 1500 up false", "link srd0p mtu 1500 up true"})
}

func TestSecondTunnelWithDefaultRoute(t *testing.T) {
	host(t)
	var marks []uint32
	var states []*State
	before := snapshot(t)
	for i, name := range []string{"srd0", "srd1", "srd2"} {
		addLink(t, name)
		plan := Plan{Link: name, StateFile: stateFile(t, name), Routes: prefixes("0.0.0.0/0")}
		if i == 2 {
			plan.FwMark = 51 // the number of a reserved table: the mark is used, but another table is chosen
		}
		s, err := Apply(plan)
		must(t, err)
		marks, states = append(marks, s.FwMark), append(states, s)
	}
	if want := []uint32{51820, 51820, 51}; !slices.Equal(marks, want) {
		t.Errorf("marks %v, want %v", marks, want)
	}
	// The tunnels end in the order in which they were started, not in reverse order.
	for i, s := range states {
		must(t, s.Revert())
		link, err := netlink.LinkByName(fmt.Sprintf("srd%d", i))
		must(t, err)
		must(t, netlink.LinkDel(link))
	}
	wantChange(t, before, nil, nil)
}

func TestExplicitTableAndOff(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	before := snapshot(t)
	plan := Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Table: Table{ID: 1000}, FwMark: 7,
		Addresses: prefixes("10.9.0.1/24"), Routes: prefixes("0.0.0.0/0", "10.9.0.2/32")}
	s, err := Apply(plan)
	must(t, err)
	if s.FwMark != 7 {
		t.Errorf("mark %d, want the configured 7", s.FwMark)
	}
	wantChange(t, before, []string{
		"link srd0 mtu 1500 up true", "addr 10.9.0.1/24 on srd0",
		"route 10.9.0.0/24 via <nil> on srd0 table 254",
		"route 0.0.0.0/0 via <nil> on srd0 table 1000", "route 10.9.0.2/32 via <nil> on srd0 table 1000",
	}, []string{"link srd0 mtu 1500 up false"})
	must(t, s.Revert())
	plan.Table = Table{Off: true}
	s, err = Apply(plan)
	must(t, err)
	wantChange(t, before, []string{
		"link srd0 mtu 1500 up true", "addr 10.9.0.1/24 on srd0",
		"route 10.9.0.0/24 via <nil> on srd0 table 254",
	}, []string{"link srd0 mtu 1500 up false"})
	must(t, s.Revert())
	wantChange(t, before, nil, nil)
}

func TestClashesLeaveNothing(t *testing.T) {
	host(t)
	link := addLink(t, "srd0")
	before := snapshot(t)
	base := Plan{Link: "srd0", MTU: 9000, StateFile: stateFile(t, "srd0"), Addresses: prefixes("10.9.0.1/24")}
	for _, tt := range []struct {
		name   string
		change func(*Plan)
		want   string
	}{
		{"address of the uplink", func(p *Plan) { p.Addresses = prefixes("10.9.0.1/24", "192.0.2.2/24") },
			"interface srd0: address 192.0.2.2/24: eth0 has it already"},
		{"address twice", func(p *Plan) { p.Addresses = prefixes("10.9.0.1/24", "fd00::1/64", "10.9.0.1/32") },
			"interface srd0: address 10.9.0.1/32: srd0 has it already"},
		{"route of the uplink", func(p *Plan) { p.Routes = prefixes("10.1.0.0/16", "192.0.2.0/24", "0.0.0.0/0") }, ""},
		{"route twice in a table", func(p *Plan) {
			p.Table = Table{ID: 77}
			p.Routes = prefixes("10.1.0.0/16", "10.2.0.0/16")
			must(t, netlink.RouteAdd(&netlink.Route{LinkIndex: 1, Dst: ipNet(netip.MustParsePrefix("10.2.0.0/16")), Table: 77, Scope: netlink.SCOPE_LINK}))
			before = snapshot(t)
		}, "interface srd0: route 10.2.0.0/16: routing table 77 has one already, by lo: file exists"},
		{"mtu too small for IPv6", func(p *Plan) { p.MTU, p.Addresses = 1000, prefixes("10.9.0.1/24", "fd00::1/64") }, ""},
		{"mtu out of range", func(p *Plan) { p.MTU = 1 << 20 }, ""},
		{"no such interface", func(p *Plan) { p.Link = "srd9" }, "interface srd9: Link not found"},
		{"no prefix", func(p *Plan) { p.Routes = append(p.Routes, netip.Prefix{}) }, "srd0: a prefix is not valid"},
	} {
		plan := base
		tt.change(&plan)
		s, err := Apply(plan)
		if err == nil {
			t.Errorf("%s: no error", tt.name)
			must(t, s.Revert())
			continue
		}
		if tt.want != "" && err.Error() != tt.want {
			t.Errorf("%s: error %q\nwant %q", tt.name, err, tt.want)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error of several lines: %q", tt.name, err)
		}
		wantChange(t, before, nil, nil)
		wantNoFile(t, base.StateFile)
	}
	// A host address that two interfaces share, as on unnumbered links, is not a conflict.
	base.Addresses = prefixes("192.0.2.2/32")
	s, err := Apply(base)
	must(t, err)
	must(t, s.Revert())
	must(t, netlink.LinkDel(link))
}

func TestStrictWarnings(t *testing.T) {
	for _, tt := range []struct {
		modes map[string]string
		want  []string
	}{
		{map[string]string{"all": "0", "default": "1", "lo": "1", "eth0": "0"}, nil},
		{map[string]string{"all": "2", "eth0": "1"}, nil},
		{map[string]string{"all": "1", "eth1": "0", "eth0": "2", "eth2": "1"}, []string{"eth1", "eth2"}},
	} {
		got := strictWarnings(tt.modes)
		if len(got) != len(tt.want) {
			t.Errorf("strictWarnings(%v) = %v, want those of %v", tt.modes, got, tt.want)
			continue
		}
		for i, w := range got {
			if !strings.Contains(w, " "+tt.want[i]+":") {
				t.Errorf("warning %q, want that of %s", w, tt.want[i])
			}
		}
	}
}

// TestRoutesCoverAll checks the routes that a plan chooses. A connected route, a plain route or a
// default route must cover every address of an allowed prefix. No route may be duplicate or
// superfluous.
func TestRoutesCoverAll(t *testing.T) {
	prefix := rapid.Custom(func(t *rapid.T) netip.Prefix {
		a := netip.AddrFrom4([4]byte{10, byte(rapid.IntRange(0, 1).Draw(t, "b")), byte(rapid.IntRange(0, 3).Draw(t, "c")), byte(rapid.IntRange(0, 3).Draw(t, "d"))})
		return netip.PrefixFrom(a, rapid.SampledFrom([]int{0, 8, 15, 16, 23, 24, 30, 32}).Draw(t, "bits"))
	})
	rapid.Check(t, func(t *rapid.T) {
		p := Plan{Addresses: rapid.SliceOfN(prefix, 0, 3).Draw(t, "addresses"), Routes: rapid.SliceOfN(prefix, 0, 8).Draw(t, "routes"),
			Table: Table{Off: rapid.Bool().Draw(t, "off"), ID: rapid.SampledFrom([]uint32{0, 0, 9}).Draw(t, "table")}}
		plain, byPolicy := p.routes()
		if p.Table.Off && len(plain)+len(byPolicy) > 0 {
			t.Fatalf("routes %v %v although they are off", plain, byPolicy)
		}
		made := map[netip.Prefix]bool{}
		for _, r := range append(slices.Clone(plain), byPolicy...) {
			if made[r] || r != r.Masked() {
				t.Fatalf("route %v twice or with host bits", r)
			}
			made[r] = true
		}
		for _, want := range p.Routes {
			covered := made[want.Masked()]
			for _, a := range p.Addresses {
				covered = covered || p.Table.ID == 0 && a.Bits() <= want.Bits() && a.Overlaps(want)
			}
			if !covered && !p.Table.Off {
				t.Fatalf("%v of %+v is not routed: %v %v", want, p, plain, byPolicy)
			}
		}
	})
}
