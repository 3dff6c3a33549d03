package netconf

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// rpFilterFiles are the reverse-path filter settings of IPv4, one an interface.
const rpFilterFiles = "/proc/sys/net/ipv4/conf/*/rp_filter"

// strictReversePath warns where the strict reverse-path filter (RFC 3704; 1 in
// net.ipv4.conf.*.rp_filter, of which the kernel takes the maximum with "all")
// would drop the peers' packets: they come in without a mark, and without one
// the way back is through the tunnel. wg-quick(8) gets around it with firewall
// rules; an unprivileged daemon can only say so. The tunnel itself is not concerned.
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

// strictWarnings takes the setting of each interface, "all" and "default" among
// them, and returns one warning a strict interface, sorted.
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
