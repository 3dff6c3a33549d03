package handover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// Some peers have addresses that the configuration does not contain. The daemon saves these
// addresses in a file, because it may be killed, or the host may have no descriptor store. The next
// process sends handshakes to the saved addresses. It does not wait for the peers' handshakes,
// because peers detect late that their sessions are lost. After a long pause a peer sends a
// handshake only every few seconds.

const peersVersion = 1

type savedPeers struct {
	Version int    `json:"version"`
	Network string `json:"network_namespace"`
	Boot    string `json:"boot_id,omitempty"` // a service's file outlives a reboot
	Peers   []Peer `json:"peers"`
}

// WritePeers saves the peers' addresses of interface name for the next process.
func WritePeers(name string, peers []Peer) error {
	path, err := rundir.Path(name, rundir.Peers)
	if err != nil {
		return err
	}
	data, err := json.Marshal(savedPeers{peersVersion, network(), rundir.Boot(), peers})
	if err != nil {
		return err
	}
	return rundir.Replace(path, data, 0o600)
}

// ReadPeers returns the peers that WritePeers saved last, or no peers if there is no file. A file
// from another network namespace is an error, because in this namespace its addresses may belong to
// other hosts. A file in another format is also an error.
func ReadPeers(name string) ([]Peer, error) {
	path, err := rundir.Path(name, rundir.Peers)
	if err != nil {
		return nil, err
	}
	data, err := rundir.Read(path, maxState)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var v savedPeers
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	switch {
	case v.Version != peersVersion:
		return nil, fmt.Errorf("%s has format %d, not %d", path, v.Version, peersVersion)
	case v.Boot != "" && v.Boot != rundir.Boot():
		return nil, nil // after a reboot the host may be in another network
	case v.Network != network():
		return nil, fmt.Errorf("%s is of another network namespace", path)
	}
	return v.Peers, nil
}

// RemovePeers removes the file of saved addresses, if there is one.
func RemovePeers(name string) error {
	path, err := rundir.Path(name, rundir.Peers)
	if err != nil {
		return err
	}
	if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
