// Package handover passes the queues of the TUN device, the UDP sockets and the peers' addresses
// from a process to its successor. Between the two processes, the service manager keeps the
// descriptors in its descriptor store. The manual pages sd_pid_notify_with_fds(3) and
// systemd.service(5), at FileDescriptorStoreMax=, describe the store.
//
// Applications and routers notice no change. The device keeps its addresses, routes and queued
// packets. The UDP sockets keep the packets that have arrived. The peers' validated addresses
// remain valid. Keys and sessions are not passed on: a new handshake takes one round trip for
// each peer.
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

// stateVersion is the version of the format of State. A program that writes version 1 must refuse
// version 2, because that program expects a virtio header of ten bytes on the device. With version
// 3 the store had additional files with sessions, which are now ignored.
const (
	stateVersion  = 2
	newestVersion = 3
	oldestVersion = 1
)

// maxState bounds the size of a state in bytes. It is enough for 4,096 peers with 16 addresses
// each.
const maxState = 8 << 20

// State describes the descriptors that are passed on.
type State struct {
	Version int      `json:"version"`
	Network string   `json:"network_namespace"` // namespace of device and sockets
	Setup   string   `json:"setup"`             // digest of the settings of device and sockets
	FwMark  uint32   `json:"fwmark"`
	Ports   []uint16 `json:"ports"` // in the order of the sockets
	Peers   []Peer   `json:"peers"`
}

// Peer is the public key of a peer and its validated addresses.
type Peer struct {
	Key       string           `json:"key"`
	Addresses []netip.AddrPort `json:"addresses"`
}

// Bundle holds the descriptors and addresses that one process passes on. The descriptors are
// plain numbers, because Go's poller would watch an os.File.
type Bundle struct {
	State State
	TUN   []int // one for each queue
	UDP   []int
}

// Close closes the descriptors in the bundle that the new process has not taken.
func (b *Bundle) Close() {
	for _, fds := range [][]int{b.TUN, b.UDP} {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	b.TUN, b.UDP = nil, nil
}

// With these seals, no process that has the state's descriptor can change the state.
const seals = unix.F_SEAL_SEAL | unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE

// memfd returns a descriptor of a sealed anonymous file with the state.
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

func network() string {
	var st unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("net:[%d]", st.Ino)
}
