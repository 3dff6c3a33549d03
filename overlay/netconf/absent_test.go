package netconf

import (
	"fmt"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// A kernel without IPv6 returns other errors than one on which IPv6 is disabled. With both, only
// the steps for IPv6 are left out. If a capability is missing, no step is left out.
func TestFamilyThatIsAbsent(t *testing.T) {
	six := addressStep{prefix: netip.MustParsePrefix("fd00::1/64")}
	four := addressStep{prefix: netip.MustParsePrefix("10.9.0.1/24")}
	for _, c := range []struct {
		step step
		err  error
		out  bool
	}{
		{six, unix.EACCES, true},
		{six, unix.EOPNOTSUPP, true},
		{six, unix.EAFNOSUPPORT, true},
		{routeStep{Prefix: netip.MustParsePrefix("::/0")}, unix.EAFNOSUPPORT, true},
		{ruleStep{V6: true}, unix.EAFNOSUPPORT, true},
		{six, unix.EPERM, false},
		{six, unix.EEXIST, false},
		{six, nil, false},
		{four, unix.EAFNOSUPPORT, false},
		{ruleStep{}, unix.EOPNOTSUPP, false},
	} {
		var s State
		err := c.err
		if err != nil {
			err = fmt.Errorf("netlink: %w", err)
		}
		if out := s.leftOut(c.step, err); out != c.out || s.absent[c.step] != c.out {
			t.Errorf("%v with %v: left out %v, recorded %v", c.step, c.err, out, s.absent[c.step])
		}
	}
}
