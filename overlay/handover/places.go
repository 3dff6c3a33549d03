package handover

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// A process that was killed, or that nobody keeps descriptors for, leaves a file with
// the addresses of those peers that it could not find by its configuration. The process
// after it calls them there. Else they would have to notice by themselves that their
// sessions are gone, and after a long pause they look for us only every few seconds.

// placesVersion is that of the file.
const placesVersion = 1

// places is that file.
type places struct {
	Version int    `json:"version"`
	Network string `json:"network_namespace"`
	Boot    string `json:"boot_id,omitempty"` // a service keeps the file on a disk
	Peers   []Peer `json:"peers"`
}

// WritePlaces leaves the addresses of interface name's peers to the next process.
func WritePlaces(name string, peers []Peer) error {
	path, err := rundir.Path(name, rundir.Places)
	if err != nil {
		return err
	}
	data, err := json.Marshal(places{placesVersion, network(), rundir.Boot(), peers})
	if err != nil {
		return err
	}
	return rundir.Replace(path, data, 0o600)
}

// ReadPlaces returns what WritePlaces left last; none if there is no such file. What is
// of another network namespace, or another format, is an error: addresses there may be
// those of others.
func ReadPlaces(name string) ([]Peer, error) {
	path, err := rundir.Path(name, rundir.Places)
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
	var v places
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("%s is damaged: %w", path, err)
	}
	switch {
	case v.Version != placesVersion:
		return nil, fmt.Errorf("%s has format %d, not %d", path, v.Version, placesVersion)
	case v.Boot != "" && v.Boot != rundir.Boot():
		return nil, nil // the host may be at another place by now
	case v.Network != network():
		return nil, fmt.Errorf("%s is of another network namespace", path)
	}
	return v.Peers, nil
}

// RemovePlaces removes the file, if there is one.
func RemovePlaces(name string) error {
	path, err := rundir.Path(name, rundir.Places)
	if err != nil {
		return err
	}
	if err = os.Remove(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
