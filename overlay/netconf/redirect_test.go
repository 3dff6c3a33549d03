package netconf

import (
	"os"
	"strings"
	"testing"
)

// No redirect is sent into the tunnel, and other interfaces send redirects as before.
func TestNoRedirects(t *testing.T) {
	host(t)
	addLink(t, "srd0")
	addLink(t, "srd1")
	value := func(name string) string {
		v, err := os.ReadFile("/proc/sys/net/ipv4/conf/" + name + "/send_redirects")
		must(t, err)
		return strings.TrimSpace(string(v))
	}
	s, err := Apply(Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Addresses: prefixes("10.9.0.1/24")})
	must(t, err)
	if value("srd0") != "0" || value("all") != "0" || value("srd1") != "1" {
		t.Errorf("srd0 %s, all %s, srd1 %s; want 0, 0, 1", value("srd0"), value("all"), value("srd1"))
	}
	must(t, s.Revert())
}
