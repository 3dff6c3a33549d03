package privilege

import (
	"errors"

	"golang.org/x/sys/unix"
)

// secureNoRoot prevents that a program gains capabilities only because user 0 executes it
// (SECBIT_NOROOT and SECBIT_NOROOT_LOCKED, capabilities(7)).
const secureNoRoot = 1<<0 | 1<<1

// More reports whether the process has capabilities other than the given one, and may change its
// bounding set.
func More(capability uint) bool {
	have, err := capabilities()
	return err == nil && have&^(1<<capability) != 0 && have&(1<<unix.CAP_SETPCAP) != 0
}

// Limit reduces the process, and each program that it executes, to the given capability. Unlike
// after Drop, an executed program still gets the capabilities of its file, as for any user of
// the host. The parameter `dir` has the same meaning as for Drop.
func Limit(dir string, capability uint) error {
	defer awake()()
	own := uint64(1) << capability
	return errors.Join(
		named("PR_SET_SECUREBITS", every(unix.SYS_PRCTL, unix.PR_SET_SECUREBITS, secureNoRoot)),
		become(dir),
		setCapabilities(own, own),
		named("ambient capabilities", every(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, uintptr(capability))),
		Hide(),
	)
}
