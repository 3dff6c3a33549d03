package netconf

import (
	"os"
	"slices"
	"testing"
)

// While IPv6 is off, the warning tells what is left of the tunnel. It is foreseen.
func TestWithoutIPv6(t *testing.T) {
	const off = " (net.ipv6.conf.*.disable_ipv6)"
	for _, c := range []struct {
		addresses, routes []string
		want              string
	}{
		{[]string{"10.9.0.1/24", "fd09::1/64"}, []string{"10.8.0.0/24"},
			"IPv6 is off on srd0" + off + ", and IPv4 works without it; absent until it is on: address fd09::1/64"},
		{[]string{"fd09::1/64"}, []string{"10.8.0.0/24"},
			"IPv6 is off on srd0" + off + ", and srd0 has no IPv4 address; absent until it is on: address fd09::1/64"},
		{[]string{"fd09::1/64"}, []string{"fd08::/64"},
			"IPv6 is off on srd0" + off + ", and srd0 has no IPv4 address or route, so nothing passes; absent until it is on: address fd09::1/64, route fd08::/64"},
		{[]string{"10.9.0.1/24"}, []string{"10.8.0.0/24"}, ""},
	} {
		host(t)
		p := Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Addresses: prefixes(c.addresses...), Routes: prefixes(c.routes...)}
		if defaults, six, err := p.Foresee(); err != nil || len(defaults)+len(six) > 0 {
			t.Errorf("with IPv6: %q, %q, %v", defaults, six, err)
		}
		must(t, os.WriteFile("/proc/sys/net/ipv6/conf/default/disable_ipv6", []byte("1"), 0))
		_, foreseen, err := p.Foresee()
		must(t, err)
		tun(t, "srd0")
		s, err := Apply(p)
		must(t, err)
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		if !slices.Equal(s.Warnings, want) || !slices.Equal(foreseen, want) {
			t.Errorf("%q, foreseen %q, want %q", s.Warnings, foreseen, want)
		}
		must(t, s.Revert())
	}
}
