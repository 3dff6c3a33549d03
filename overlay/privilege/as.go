package privilege

import (
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// As calls f with those rights over files that Drop(dir, capability) leaves to this process. Only
// the calling thread has these rights, so f must open all files in its own goroutine. If the rights
// cannot be reduced, f has all rights of the process.
func As(dir string, capability uint, f func()) error {
	runtime.LockOSThread()
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var all [2]unix.CapUserData
	err := unix.Capget(&header, &all[0])
	less := all
	less[0].Effective &= 1 << capability
	less[1].Effective &= uint32(uint64(1) << capability >> 32)
	if err != nil || less == all { // a sandbox may forbid even this capset(2)
		runtime.UnlockOSThread()
		f()
		return named("capget", err)
	}
	back := fileUser(dir)
	err = unix.Capset(&header, &less[0])
	f()
	back()
	if failed := unix.Capset(&header, &all[0]); failed != nil && err == nil {
		return named("capset", failed) // the thread stays locked, so other goroutines keep their rights
	}
	runtime.UnlockOSThread()
	return named("capset", err)
}

// fileUser makes the owner of dir the user for whom this thread opens files, as become() does for
// the process, until back() is called.
func fileUser(dir string) (back func()) {
	var st unix.Stat_t
	if os.Geteuid() != 0 || unix.Stat(dir, &st) != nil || st.Uid == 0 {
		return func() {}
	}
	gid, _ := unix.SetfsgidRetGid(int(st.Gid))
	uid, _ := unix.SetfsuidRetUid(int(st.Uid))
	return func() {
		_, _ = unix.SetfsuidRetUid(uid)
		_, _ = unix.SetfsgidRetGid(gid)
	}
}
