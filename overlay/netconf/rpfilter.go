package netconf

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rpFilterFiles are the reverse-path filter settings of IPv4, one for each interface.
const rpFilterFiles = "/proc/sys/net/ipv4/conf/*/rp_filter"

// strictReversePath warns of interfaces whose strict reverse-path filter (RFC 3704) would
// drop the peers' packets. Those packets arrive without a mark, and the route back for
// unmarked packets leads through the tunnel. The filter is strict if
// net.ipv4.conf.*.rp_filter is 1; the kernel uses the maximum of the interface's value
// and the value of "all". The tunnel's own filter does no harm. wg-quick(8) adds firewall
// rules against this; an unprivileged daemon can only warn.
func strictReversePath(tunnel string) []string {
	files, err := filepath.Glob(rpFilterFiles)
	if err != nil {
		return nil
	}
	modes := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err == nil {
			modes[filepath.Base(filepath.Dir(f))] = strings.TrimSpace(string(data))
		}
	}
	delete(modes, tunnel)
	return strictWarnings(modes)
}

// strictWarnings returns a warning for each strict interface, sorted. The map modes has
// the setting of each interface, and of "all" and "default".
func strictWarnings(modes map[string]string) []string {
	var out []string
	for name, mode := range modes {
		if name == "all" || name == "default" || name == "lo" {
			continue
		}
		if max(mode, modes["all"]) == "1" {
			out = append(out, fmt.Sprintf("rp_filter is strict on %s: it will drop packets from peers because the default route is in the tunnel; set net.ipv4.conf.%s.rp_filter=2", name, name))
		}
	}
	slices.Sort(out)
	return out
}
