package netconf

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// dropPrivileges makes the calling thread run as user nobody with one capability. The thread must
// not be unlocked afterwards.
func dropPrivileges(t *testing.T, capability uint) {
	t.Helper()
	const nobody = 65534
	must(t, unix.Prctl(unix.PR_SET_KEEPCAPS, 1, 0, 0, 0))
	// The raw system call changes this thread only.
	if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, nobody, nobody, nobody); errno != 0 {
		t.Fatal(errno)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	data[0].Permitted = 1 << capability
	data[0].Effective = 1 << capability
	must(t, unix.Capset(&header, &data[0]))
}

// asNobody runs f with one capability, in a separate network namespace and on a separate thread. It
// runs f as a subtest, so that the outer test's thread removes the temporary files.
func asNobody(t *testing.T, capability uint, f func(t *testing.T)) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv(rundir.Env, dir)
	must(t, os.Chmod(dir, 0o777))
	for d := filepath.Dir(dir); d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		must(t, os.Chmod(d, 0o755))
	}
	t.Run("nobody", func(t *testing.T) {
		network(t)
		addLink(t, "srd0")
		dropPrivileges(t, capability)
		f(t)
	})
}

func TestNetAdminIsEnough(t *testing.T) {
	asNobody(t, unix.CAP_NET_ADMIN, func(t *testing.T) {
		before := snapshot(t)
		plan := Plan{Link: "srd0", MTU: 9000, StateFile: stateFile(t, "srd0"),
			Addresses: prefixes("10.9.0.1/24", "fd00:9::1/64"), Routes: prefixes("0.0.0.0/0", "::/0", "10.7.0.0/16")}
		s, err := Apply(plan)
		must(t, err)
		must(t, s.Revert())
		wantChange(t, before, nil, nil)
		// A start after a kill works as well.
		_, err = Apply(plan)
		must(t, err)
		link, err := netlink.LinkByName("srd0")
		must(t, err)
		must(t, netlink.LinkDel(link))
		must(t, Recover("srd0"))
		wantNoFile(t, plan.StateFile)
		wantChange(t, before, nil, []string{"link srd0 mtu 1500 up false", "link srd0p mtu 1500 up true"})
	})
}

func TestWithoutPrivilegeIsPermission(t *testing.T) {
	asNobody(t, unix.CAP_NET_RAW, func(t *testing.T) {
		_, err := Apply(Plan{Link: "srd0", StateFile: stateFile(t, "srd0"), Addresses: prefixes("10.9.0.1/24")})
		if !errors.Is(err, fs.ErrPermission) {
			t.Errorf("Apply = %v, want a permission error", err)
		}
	})
}
