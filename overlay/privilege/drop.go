// Package privilege has a process give up what it does not need once all is set up. A
// service manager does the same before it starts a program (systemd.exec(5)); this is
// for whoever starts it by hand, as root.
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

// lastCap is above every capability that a kernel may have: a set has 64 bits.
const lastCap = 63

// Drop leaves the process with the given capability alone, in the bounding set too,
// without a way to gain others by executing a program, and unreadable: nobody may
// attach to it, and it writes no core, as its memory has keys. What cannot be given up
// is told.
//
// Root stays root without any right over others' files. Only where dir belongs to
// somebody else, as to the user of a service, the process becomes that user: it could
// not remove its own files there.
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
		// Last: a change of user or of capabilities sets it to the system's default.
		Hide(),
	)...)
}

// Hide keeps the memory of this process from others, whoever's they are: nobody but root
// may attach to it or read it, and it writes no core. It is for the start of a program,
// before there are keys in it.
func Hide() error {
	return errors.Join(
		named("RLIMIT_CORE", unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{})),
		named("PR_SET_DUMPABLE", unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)), // of the memory, so for all threads
	)
}

// wakeEvery bounds what a call on all threads waits for. The runtimes of Go 1.26 and 1.27 stop all
// threads for it, and do not see one that enters a blocking system call in that moment before
// any timer of the program fires, which here may take a second.
const wakeEvery = time.Millisecond

// awake has a timer fire until stop is called.
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

// every makes a system call on all threads, as Linux keeps credentials for each. Go's
// runtime does that in a program of Go alone, and refuses to where C is linked in, as plain
// "go build" does if there is a compiler; there psx interrupts each thread.
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

// dropBounding takes all but one capability out of the bounding set, if it may.
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
			return nil // the kernel has no more
		}
		if err != nil {
			return named("bounding set", err)
		}
	}
	return nil
}

// become changes to the owner of dir, with the capabilities that there are.
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
