package privilege

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

func capabilities() (permitted uint64, err error) {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return 0, named("capget", err)
	}
	return uint64(data[1].Permitted)<<32 | uint64(data[0].Permitted), nil
}

// Has reports whether this process has a capability.
func Has(capability uint) bool {
	permitted, err := capabilities()
	return err == nil && permitted&(1<<capability) != 0
}

// setCapabilities reduces the capabilities of all threads to `set`. Executed programs may
// inherit the capabilities in `inherited`.
func setCapabilities(set, inherited uint64) error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	data := [2]unix.CapUserData{
		{Effective: uint32(set), Permitted: uint32(set), Inheritable: uint32(inherited)},
		{Effective: uint32(set >> 32), Permitted: uint32(set >> 32), Inheritable: uint32(inherited >> 32)},
	}
	var hold runtime.Pinner // a goroutine's stack may move during the call
	defer hold.Unpin()
	hold.Pin(&header)
	hold.Pin(&data)
	return named("capset", every(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0]))))
}
