package tundev

import (
	"errors"
	"fmt"

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

func openClone() (int, error) {
	fd, err := unix.Open(cloneDevice, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, accessError(err)
	}
	return fd, nil
}

// notCreated returns the error of a device that the kernel refuses to create.
func notCreated(err error) error {
	if errors.Is(err, unix.EPERM) {
		err = fmt.Errorf("%w (root or CAP_NET_ADMIN is needed)", err)
	}
	return fmt.Errorf("TUNSETIFF: %w", err)
}

// Foresee returns the error with which Open would fail now, because this process cannot create
// devices. The argument `admin` tells whether the process has CAP_NET_ADMIN. Foresee creates no device.
func Foresee(name string, admin bool) error {
	fd, err := openClone()
	if err == nil {
		unix.Close(fd)
		if admin {
			return nil
		}
		err = notCreated(unix.EPERM)
	}
	return failed(name, err)
}

func failed(name string, err error) error { return fmt.Errorf("create TUN device %s: %w", name, err) }
