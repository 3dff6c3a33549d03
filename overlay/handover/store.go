package handover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// These constants are the names of the descriptors in the store.
const (
	nameTUN   = "tun"
	nameUDP   = "udp"
	nameState = "state"
)

const (
	// firstFD is the number of the first descriptor that the service manager passes on
	// (sd_listen_fds(3)).
	firstFD = 3
	// maxFDs bounds the number of descriptors: two for each of 256 ports, a queue for each of 16
	// threads, and the state. The unit sets FileDescriptorStoreMax= to the same number.
	maxFDs = 600
	// perMessage is the kernel's limit of descriptors in one message (SCM_MAX_FD).
	perMessage = 253
	// barrierWait bounds the time in which the service manager must process a message. Two seconds
	// suffice, because the manager is the first process of the host, and usually idle.
	barrierWait = 2 * time.Second
	// askWait bounds the time of the request that asks the service manager whether it restarts this
	// service. Without a reply from the manager, the daemon assumes that the service is stopped for
	// good.
	askWait = 2 * time.Second
)

// These environment variables contain the path of the service manager's socket, the unit's name,
// and the inherited descriptors.
const (
	notifyEnv = "NOTIFY_SOCKET"
	// UnitEnv is the environment variable with this unit's name, set in the unit file. A daemon
	// without UnitEnv passes nothing on.
	UnitEnv  = "SRDTUN_UNIT"
	pidEnv   = "LISTEN_PID"
	countEnv = "LISTEN_FDS"
	namesEnv = "LISTEN_FDNAMES"
)

// Store is the descriptor store of the service manager. The zero value of Store is for a process
// without a service manager.
type Store struct{ socket, unit string }

// NewStore returns the descriptor store of this process's service.
func NewStore() Store { return Store{os.Getenv(notifyEnv), os.Getenv(UnitEnv)} }

// Expected reports whether the service manager, which has asked this process to end, will
// immediately start the service again.
func (s Store) Expected() bool {
	return s.socket != "" && Restarts(s.unit)
}

// Restarts reports whether the service manager has a restart job for a unit.
func Restarts(unit string) bool {
	if unit == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWait)
	defer cancel()
	out, err := exec.CommandContext(ctx, "systemctl", "list-jobs", "--no-legend", "--plain", "--no-pager").Output()
	return err == nil && restarts(string(out), unit)
}

// restarts reports whether a list of jobs contains a restart of unit. Each line of the list is a
// job: number, unit, kind, state.
func restarts(jobs, unit string) bool {
	for line := range strings.Lines(jobs) {
		if f := strings.Fields(line); len(f) >= 3 && f[1] == unit && f[2] == "restart" {
			return true
		}
	}
	return false
}

// Give puts the descriptors of b into the store. If Give returns no error, the service manager
// has all descriptors, and this process may close its own copies with
// Bundle.Close.
func (s Store) Give(b *Bundle) error {
	state, err := b.State.memfd()
	if err != nil {
		return err
	}
	defer unix.Close(state)
	for _, part := range []struct {
		name string
		fds  []int
	}{{nameTUN, b.TUN}, {nameUDP, b.UDP}, {nameState, []int{state}}} {
		for fds := part.fds; len(fds) > 0; {
			n := min(len(fds), perMessage)
			// With FDPOLL=0 the service manager keeps even a socket with a pending error.
			if err := s.send("FDSTORE=1\nFDPOLL=0\nFDNAME="+part.name, fds[:n]); err != nil {
				return err
			}
			fds = fds[n:]
		}
	}
	return s.barrier()
}

// Receive returns the descriptors of the previous process, and empties the store. If the store
// is empty already, Receive returns nil. If a bundle is unusable, Receive closes its descriptors
// and returns the reason.
func (s Store) Receive() (*Bundle, error) {
	fds, err := inherited()
	if fds == nil || err != nil {
		return nil, err
	}
	return s.receive(fds)
}

func (s Store) receive(fds map[string][]int) (_ *Bundle, err error) {
	for _, name := range []string{nameTUN, nameUDP, nameState} {
		err = errors.Join(err, s.send("FDSTOREREMOVE=1\nFDNAME="+name, nil))
	}
	// Receive waits until the service manager has emptied the store. As long as the manager has the
	// device's descriptors, the device would outlive this process.
	if err = errors.Join(err, s.barrier()); err != nil {
		closeAll(fds)
		return nil, err
	}
	return unpack(fds)
}

func unpack(fds map[string][]int) (b *Bundle, err error) {
	b = &Bundle{TUN: fds[nameTUN], UDP: fds[nameUDP]}
	delete(fds, nameTUN)
	delete(fds, nameUDP)
	var states []int
	for _, fd := range fds[nameState] {
		if isState(fd) {
			states = append(states, fd)
		}
	}
	if len(states) == 1 && len(b.TUN) > 0 && len(b.UDP) > 0 {
		b.State, err = readState(states[0])
		fds[nameState] = slices.DeleteFunc(fds[nameState], func(fd int) bool { return fd == states[0] })
	} else {
		err = errors.New("the state, the device or the sockets are missing")
	}
	closeAll(fds) // closes the state, and descriptors with unknown names
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// isState reports whether a descriptor is a sealed file, as a state is. Version 3 used the name
// of the state for two other files, with sessions.
func isState(fd int) bool {
	got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0)
	return err == nil && got&seals == seals
}

func closeAll(fds map[string][]int) {
	for _, list := range fds {
		for _, fd := range list {
			unix.Close(fd)
		}
	}
}

// send sends a message with descriptors to the service manager (sd_notify(3)).
func (s Store) send(message string, fds []int) error {
	if s.socket == "" {
		return nil
	}
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(int64(barrierWait))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	return os.NewSyscallError("sendmsg", unix.Sendmsg(fd, []byte(message), rights, &unix.SockaddrUnix{Name: s.socket}, 0))
}

// barrier waits until the service manager has processed all earlier messages. The manager then
// closes the descriptor that was sent with the barrier message.
func (s Store) barrier() error {
	if s.socket == "" {
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	defer r.Close()
	err = s.send("BARRIER=1", []int{int(w.Fd())})
	if err = errors.Join(err, w.Close(), r.SetReadDeadline(time.Now().Add(barrierWait))); err != nil {
		return err
	}
	switch _, err := r.Read(make([]byte, 1)); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("the service manager has not answered within %v", barrierWait)
	case err != io.EOF:
		return fmt.Errorf("the service manager has not answered as it should: %w", err)
	}
	return nil
}
