package tundev

import (
	"errors"

	"golang.org/x/sys/unix"
)

// AccessError explains why no TUN device can be created on this host, with a remedy.
type AccessError struct {
	Err  error // error of opening /dev/net/tun
	Hint string
}

func (e *AccessError) Error() string { return cloneDevice + ": " + e.Err.Error() + " (" + e.Hint + ")" }
func (e *AccessError) Unwrap() error { return e.Err }

// accessError returns an error that explains why the clone device (/dev/net/tun) cannot be opened.
func accessError(err error) error {
	hint := "are there too many open files?"
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		hint = "modprobe tun; a container needs --device " + cloneDevice
	case errors.Is(err, unix.EPERM):
		hint = "the device cgroup forbids it; a container needs --device " + cloneDevice + ", a service DeviceAllow="
	case errors.Is(err, unix.EACCES):
		hint = "its mode keeps this user out; it is 0666 elsewhere: chmod 666 " + cloneDevice
	}
	return &AccessError{err, hint}
}
