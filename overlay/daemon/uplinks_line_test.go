package daemon

import (
	"net/netip"
	"testing"
	"testing/fstest"

	"github.com/srdtun/srdtun/srd"
)

// The rate of the line is the sum of all interfaces in use, each counted once. An interface
// without a device behind it, or with an unknown rate, makes it zero.
func TestLineIsWhatTheInterfacesTell(t *testing.T) {
	old := sysfs
	defer func() { sysfs = old }()
	sysfs = fstest.MapFS{
		"eth0/device/vendor": {}, "eth0/speed": {Data: []byte("25000\n")},
		"eth1/device/vendor": {}, "eth1/speed": {Data: []byte("10000\n")},
		"eth2/device/vendor": {}, "eth2/speed": {Data: []byte("-1\n")},
		"eth3/device/vendor": {},
		"veth0/speed":        {Data: []byte("10000\n")},
	}
	for name, want := range map[string]float64{"eth0": 25e9 / 8, "eth2": 0, "eth3": 0, "veth0": 0, "gone": 0, "": 0} {
		if got := speed(sysfs, name); got != want {
			t.Errorf("%q: %v bytes per second, want %v", name, got, want)
		}
	}
	one := netip.MustParseAddr("10.0.0.1") // the same address on two sticks
	a, b, c := srd.UplinkOf(one, 1), srd.UplinkOf(one, 2), srd.UplinkOf(netip.MustParseAddr("10.0.2.1"), 0)
	s := &server{uplinks: &uplinks{}}
	s.uplinks.interfaces.at = map[srd.Uplink]iface{a: {name: "eth0"}, b: {name: "eth1"}}
	s.uplinks.interfaces.of = map[netip.Addr][]iface{c.Addr(): {{name: "eth2"}}}
	tuple := func(sock uint16, l srd.Uplink) srd.Tuple { return srd.Tuple{Sock: sock, Local: l} }
	for _, x := range []struct {
		tuples []srd.Tuple
		want   float64
	}{
		{nil, 0},
		{[]srd.Tuple{tuple(0, a), tuple(1, a)}, 25e9 / 8},
		{[]srd.Tuple{tuple(0, a), tuple(0, b), tuple(1, a), tuple(1, b)}, 35e9 / 8},
		{[]srd.Tuple{tuple(0, a), tuple(0, c)}, 0},
	} {
		if got := s.uplinks.lineOf(x.tuples); got != x.want {
			t.Errorf("%v: %v bytes per second, want %v", x.tuples, got, x.want)
		}
	}
}
