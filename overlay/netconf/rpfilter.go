package netconf

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rpFilterFiles matches the files with the IPv4 reverse-path filter settings, one for each
// interface.
const rpFilterFiles = "/proc/sys/net/ipv4/conf/*/rp_filter"

// strictReversePath returns warnings of interfaces whose strict reverse-path filter (RFC 3704)
// would drop the peers' packets. Received outer packets have no mark, and the reverse route for
// unmarked packets leads into the tunnel. The filter of an interface is strict if the larger of two
// values of net.ipv4.conf.*.rp_filter is 1: the interface's own value, and that of "all". The
// reverse-path filter on the tunnel's own interface is harmless. wg-quick(8) solves this with
// firewall rules, but an unprivileged daemon can only warn.
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

// strictWarnings returns the sorted warnings, one for each interface with a strict filter. The
// map modes has the setting of each interface, and of "all" and "default".
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
