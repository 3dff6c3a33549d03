package netconf

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/vishvananda/netlink"
)

// Foresee returns the warnings that Apply would give now about default routes, and about
// addresses and routes that lack IPv6. Foresee changes nothing, and the interface of the plan
// need not exist. If it exists, its own default route causes no warning. Foresee returns an error
// if Apply would find no room for its rules or routes.
func (p Plan) Foresee() (defaults, ipv6 []string, err error) {
	s, conf := &State{}, "default" // for interfaces that are created later
	if s.link, err = netlink.LinkByName(p.Link); err == nil {
		s.index, conf = s.link.Attrs().Index, p.Link
	} else {
		s.link = &netlink.GenericLink{LinkAttrs: netlink.LinkAttrs{Name: p.Link}}
	}
	if s.done, err = s.plan(p, s.link); err != nil {
		return nil, nil, err
	}
	defaults, s.Warnings = s.Warnings, nil
	if IPv6Off(conf) {
		s.absent = map[step]bool{}
		_, none := os.Stat(sysctlIPv6)
		for _, v := range s.done {
			// The kernel takes rules even if IPv6 is off on all interfaces.
			if is6(v) && (settles(v) || none != nil) {
				s.absent[v] = true
			}
		}
		s.warnAbsent()
	}
	return defaults, s.Warnings, nil
}

// sysctlIPv6 is absent if the kernel has no IPv6.
const sysctlIPv6 = "/proc/sys/net/ipv6/"

// IPv6Off reports whether IPv6 is off on an interface, on new interfaces, if `conf` is "default", or
// was switched off on the whole host, if `conf` is "all".
func IPv6Off(conf string) bool {
	v, err := os.ReadFile(sysctlIPv6 + "conf/" + conf + "/disable_ipv6")
	return errors.Is(err, fs.ErrNotExist) || strings.TrimSpace(string(v)) == "1"
}
