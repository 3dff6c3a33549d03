// Package handover passes what a process holds of the kernel's to the process that
// follows it: the queues of the TUN device, the sockets, and where the peers are. The service manager keeps the descriptors in between (its descriptor
// store, see sd_pid_notify_with_fds(3) and FileDescriptorStoreMax= in systemd.service(5)).
//
// What stays is all that applications and routers see: the device with its addresses and
// routes and what waits in its queue, the UDP ports with what has arrived on them, and the
// addresses at which peers have proven to be. Keys and sessions are not passed on: they are
// made anew, in one round trip each.
package handover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// stateVersion is that of State: a program before it misreads the device's virtio header,
// which had ten bytes in version 1. Version 3 comes with sessions in files of their own,
// which are not taken.
const (
	stateVersion  = 2
	newestVersion = 3
	oldestVersion = 1
)

// maxState bounds a state in bytes: 4,096 peers with 16 addresses each fit.
const maxState = 8 << 20

// State describes the descriptors.
type State struct {
	Version int      `json:"version"`
	Network string   `json:"network_namespace"` // where device and sockets are
	Setup   string   `json:"setup"`             // digest of what they were made from
	FwMark  uint32   `json:"fwmark"`
	Ports   []uint16 `json:"ports"` // of the sockets, in their order
	Peers   []Peer   `json:"peers"`
}

// Peer is where a peer was proven to be.
type Peer struct {
	Key       string           `json:"key"`
	Addresses []netip.AddrPort `json:"addresses"`
}

// Bundle is what is passed on. Descriptors are not wrapped in files, since Go's poller
// would watch these.
type Bundle struct {
	State State
	TUN   []int // one for each queue
	UDP   []int
}

// Close closes the descriptors that were not taken.
func (b *Bundle) Close() {
	for _, fds := range [][]int{b.TUN, b.UDP} {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	b.TUN, b.UDP = nil, nil
}

// seals keep a state as it was written, whoever holds it.
const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// memfd returns a descriptor of an anonymous file that holds the state and cannot be
// changed any more.
func (s State) memfd() (fd int, err error) {
	s.Version, s.Network = stateVersion, network()
	data, err := json.Marshal(s)
	if err != nil {
		return -1, err
	}
	if fd, err = unix.MemfdCreate("srdtun-state", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING); err != nil {
		return -1, os.NewSyscallError("memfd_create", err)
	}
	for at := 0; at < len(data) && err == nil; {
		var n int
		if n, err = unix.Pwrite(fd, data[at:], int64(at)); n == 0 && err == nil {
			err = io.ErrShortWrite
		}
		at += n
	}
	if err == nil {
		_, err = unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, seals)
	}
	if err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("the state: %w", err)
	}
	return fd, nil
}

// readState returns the state in a descriptor that memfd made, and closes it.
func readState(fd int) (s State, err error) {
	defer unix.Close(fd)
	if got, err := unix.FcntlInt(uintptr(fd), unix.F_GET_SEALS, 0); err != nil || got&seals != seals {
		return s, errors.New("the state is not a sealed memory file")
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return s, os.NewSyscallError("fstat", err)
	}
	if st.Size > maxState {
		return s, fmt.Errorf("the state has %d bytes, more than %d", st.Size, maxState)
	}
	data := make([]byte, st.Size)
	if n, err := unix.Pread(fd, data, 0); err != nil || n != len(data) {
		return s, fmt.Errorf("the state cannot be read: %w", errors.Join(err, io.ErrUnexpectedEOF))
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("the state is damaged: %w", err)
	}
	switch {
	case s.Version < oldestVersion || s.Version > newestVersion:
		return s, fmt.Errorf("the state has format %d, not %d", s.Version, stateVersion)
	case s.Network != network():
		return s, errors.New("the state is of another network namespace")
	}
	return s, nil
}

// network identifies the network namespace of the calling thread.
func network() string {
	var st unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("net:[%d]", st.Ino)
}
