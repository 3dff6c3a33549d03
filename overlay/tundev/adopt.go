package tundev

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Adopt returns a Device for the queues of a device that another process opened and passed on. The
// device keeps its settings and the packets in its queues. Adopt takes ownership of the
// descriptors, even if it fails. The field opts.Queues must be len(fds).
func Adopt(fds []int, name string, mtu int, opts Options) (*Device, error) {
	var files []*os.File
	var errs []error
	for _, fd := range fds {
		f, err := adopted(fd, name)
		errs = append(errs, err)
		files = append(files, f)
	}
	if len(fds) != max(opts.Queues, 1) {
		errs = append(errs, fmt.Errorf("it has %d queues, not %d", len(fds), max(opts.Queues, 1)))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, errors.Join(fmt.Errorf("TUN device %s: %w", name, err), closeFiles(files))
	}
	return wrap(files[0], files[1:], name, mtu, opts)
}

// adopted wraps a descriptor in a file, as attach does, and checks that the descriptor is a
// queue of the device.
func adopted(fd int, name string) (*os.File, error) {
	err := unix.SetNonblock(fd, false) // otherwise Go's own poller would watch it
	f := os.NewFile(uintptr(fd), cloneDevice)
	if err != nil {
		return f, err
	}
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return f, err
	}
	if err := unix.IoctlIfreq(fd, unix.TUNGETIFF, ifr); err != nil {
		return f, fmt.Errorf("TUNGETIFF: %w", err)
	}
	if ifr.Name() != name {
		return f, fmt.Errorf("a queue of %s was passed on", ifr.Name())
	}
	return f, unix.SetNonblock(fd, true)
}

func closeFiles(files []*os.File) error {
	var errs []error
	for _, f := range files {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// Descriptors returns duplicates of all queues' descriptors, to pass to another process. The
// caller must close the duplicates. The device exists until its last descriptor is closed.
func (d *Device) Descriptors() (fds []int, err error) {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return nil, os.ErrClosed
	}
	for _, q := range d.queues {
		fd, err := unix.FcntlInt(uintptr(q.fd), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			for _, fd := range fds {
				unix.Close(fd)
			}
			return nil, os.NewSyscallError("fcntl", err)
		}
		fds = append(fds, fd)
	}
	return fds, nil
}
