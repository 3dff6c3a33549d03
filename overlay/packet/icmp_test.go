package packet

import "testing"

func TestICMPError(t *testing.T) {
	frag := icmpPacket(false, 3)
	frag[21] = 4
	later := icmpPacket(false, 11)
	later[7] = 1
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"traceroute":         {icmpPacket(false, 11), "time exceeded"},
		"path MTU":           {frag, "fragmentation needed"},
		"host":               {icmpPacket(false, 3), "destination unreachable"},
		"traceroute of IPv6": {icmpPacket(true, 3), "time exceeded"},
		"path MTU of IPv6":   {icmpPacket(true, 2), "packet too big"},
		"ping":               {icmpPacket(false, 8), ""},
		"ping of IPv6":       {icmpPacket(true, 128), ""},
		"redirect":           {icmpPacket(false, 5), ""},
		"a later fragment":   {later, ""},
		"TCP":                {spec{}.build(), ""},
		"cut short":          {icmpPacket(false, 11)[:20], ""},
		"nothing":            {nil, ""},
	} {
		if got := ICMPError(c.b); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func FuzzICMPError(f *testing.F) {
	seeds(f, func(b []byte) { f.Add(b) })
	f.Add(icmpPacket(false, 3))
	f.Add(icmpPacket(true, 2))
	f.Fuzz(func(t *testing.T, b []byte) {
		var in Info
		if ICMPError(b) != "" && (Parse(b, &in) != OK || UnreachableLen(b, &in) != 0) {
			t.Errorf("an error that may be answered: %x", b)
		}
	})
}
