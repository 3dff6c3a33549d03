// Package privilege gives up the privileges that a process no longer needs after its setup. A
// service manager drops privileges before it starts a program (systemd.exec(5)). This package
// serves programs that root starts by hand.
package privilege

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"kernel.org/pub/linux/libs/security/libcap/psx"
)

// lastCap is the highest number that a capability can have, because a set has 64 bits.
const lastCap = 63

// Drop reduces the capabilities of the process, and its bounding set, to the given capability. This
// also applies to programs that the process executes. Because the memory of the process contains
// keys, Drop prevents that other processes attach to it, and that it writes a core file. The
// returned error names each privilege that could not be given up.
//
// A process of user 0 remains user 0, but loses its privileges over other users' files. If dir
// belongs to another user, such as the user of a service, the process becomes that user. Otherwise
// it could not remove its own files in dir.
func Drop(dir string, capability uint) error {
	defer awake()()
	own := uint64(1) << capability
	have, err := capabilities()
	if err != nil {
		return err
	}
	errs := []error{
		named("no_new_privs", every(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)),
	}
	if have&^own != 0 {
		errs = append(errs, dropBounding(have, capability), become(dir), setCapabilities(own, 0))
	}
	return errors.Join(append(errs,
		named("ambient capabilities", every(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL)),
		// Hide is called last, because a change of user or capabilities resets the dumpable flag to
		// the system's default.
		Hide(),
	)...)
}

// Hide protects the memory of this process: only root may attach to it or read it, and no core
// file is written. A program must call Hide at its start, before its memory contains keys.
func Hide() error {
	return errors.Join(
		named("RLIMIT_CORE", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})),
		named("PR_SET_DUMPABLE", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)), // of the memory, so for all threads
	)
}

// wakeEvery bounds the delay of a system call on all threads. For such a call, the runtimes of Go
// 1.26 and 1.27 stop all threads. If a thread enters a blocking system call at that moment, the
// runtime notices it only when some timer of the program fires. The daemon's next timer may be a
// second away.
const wakeEvery = time.Millisecond

// awake fires a timer repeatedly until the returned function stop is called.
func awake() (stop func()) {
	var over atomic.Bool
	var again func()
	again = func() {
		if !over.Load() {
			time.AfterFunc(wakeEvery, again)
		}
	}
	again()
	return func() { over.Store(true) }
}

// every makes a system call on all threads, because in Linux each thread has its own credentials.
// Go's runtime can make a system call on all threads only if no C code is linked in. The command
// "go build" links C code if a compiler is installed. If C code is linked in, package psx
// interrupts each thread to make the call.
func every(call uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	if _, _, errno := psx.Syscall6(call, a[0], a[1], a[2], a[3], a[4], a[5]); errno != 0 {
		return errno
	}
	return nil
}

func named(what string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// dropBounding removes all capabilities but one from the bounding set, if the process may change
// that set.
func dropBounding(have uint64, but uint) error {
	if have&(1<<unix.CAP_SETPCAP) == 0 {
		return nil
	}
	for c := uint(0); c <= lastCap; c++ {
		if c == but {
			continue
		}
		err := every(unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, uintptr(c))
		if errors.Is(err, unix.EINVAL) {
			return nil // the kernel has no capabilities with higher numbers
		}
		if err != nil {
			return named("bounding set", err)
		}
	}
	return nil
}

// become changes the user of the process to the owner of dir, and keeps the permitted
// capabilities.
func become(dir string) error {
	var st unix.Stat_t
	if os.Geteuid() != 0 || unix.Stat(dir, &st) != nil || st.Uid == 0 {
		return nil
	}
	uid, gid := int(st.Uid), int(st.Gid)
	if err := every(unix.SYS_PRCTL, unix.PR_SET_KEEPCAPS, 1); err != nil {
		return named("PR_SET_KEEPCAPS", err)
	}
	return named("change of user", errors.Join(
		syscall.Setgroups(nil), syscall.Setresgid(gid, gid, gid), syscall.Setresuid(uid, uid, uid)))
}
