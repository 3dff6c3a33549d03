package e2e

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/overlay/control"
)

// immutable sets the attribute of chattr(1) "i", or clears it. It reports whether the file system
// has this attribute.
func immutable(t *testing.T, file string, is bool) bool {
	t.Helper()
	const flag = 0x10 // FS_IMMUTABLE_FL, linux/fs.h
	f, err := os.Open(file)
	must(t, err)
	defer f.Close()
	flags, err := unix.IoctlGetUint32(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if flags &^= flag; is {
		flags |= flag
	}
	if err == nil {
		err = unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, int(flags))
	}
	return err == nil
}

// If the file cannot be replaced, "srdtun set --save" changes neither the file nor the interface,
// and names the reason. Without --save, the change is in force and differs from the file.
func TestSaveToAFileThatCannotBeReplaced(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	n := pair(t, f, tunnel.Config{}).A
	was, err := os.ReadFile(n.File)
	must(t, err)
	differs := func(want string) {
		t.Helper()
		var st control.Status
		statusOf(t, n, &st)
		if got := strings.Join(st.Unsaved, " ") + "; " + strings.Join(st.Pending, " "); got != want {
			t.Errorf("differs from the file; needs a restart: %q, want %q", got, want)
		}
	}
	refused := func(before, why string) {
		t.Helper()
		_, err := f.A(1).Run("sh", "-c", before+bin+" set --save "+n.Name+" peer.b.persistent_keepalive=9 interface.mtu=1400")
		if want := "exit status 1: srdtun: not changed: " + n.File + " cannot be replaced, because " + why; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
		differs("; ")
		if got, err := os.ReadFile(n.File); err != nil || string(got) != string(was) {
			t.Errorf("the file is now %s, %v", got, err)
		}
	}
	refused("mount --bind "+n.File+" "+n.File+"; ", "it is a mount point") // the mount ends with this command's namespace
	if immutable(t, n.File, true) {
		t.Cleanup(func() { immutable(t, n.File, false) })
		refused("", "it is immutable")
		immutable(t, n.File, false)
	}
	must(t, n.Set("peer.b.persistent_keepalive=9"))
	differs("peer.b.persistent_keepalive; ")
	cli(t, f.A(1), "set", "--save", n.Name, "peer.b.persistent_keepalive=11", "interface.mtu=1400")
	differs("; interface.mtu")
}
