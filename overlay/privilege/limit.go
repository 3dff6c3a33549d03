package privilege

import (
	"errors"

	"golang.org/x/sys/unix"
)

// secureNoRoot has user 0 be a user as others when it executes a program, for good
// (SECBIT_NOROOT and SECBIT_NOROOT_LOCKED, capabilities(7)).
const secureNoRoot = 1<<0 | 1<<1

// More reports whether the process may do more than what one capability lets it do.
func More(capability uint) bool {
	have, err := capabilities()
	return err == nil && have&^(1<<capability) != 0 && have&(1<<unix.CAP_SETPCAP) != 0
}

// Limit leaves the process, and each program that it executes, with the given capability
// alone. Other than after Drop, a program whose file has capabilities of its own gets those:
// as any user of the host may have it. About dir see Drop.
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
