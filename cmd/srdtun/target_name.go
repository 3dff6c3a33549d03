package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// A NAME is a file's or a device's: hub.toml may name its device wg9, and both words name
// the interface. To start an interface, file names come first. A running interface is
// found in two steps:
//
//  1. Daemons that root has named: the device of that name started by hand, a daemon started by
//     hand from NAME.toml, and the service srdtun@NAME. A NAME of two of them is refused.
//  2. Devices of other services. A service can claim any device name, so its file, which is
//     root's, must have that name too. Of two such services, neither is chosen.

// fileNamed returns the file of a name.
func fileNamed(name string) string {
	file := filepath.Join(configDir(), name+suffix)
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		return file
	}
	files, err := filepath.Glob(filepath.Join(configDir(), "*"+suffix))
	if err != nil {
		return file
	}
	found := file
	for _, f := range files {
		if c, err := config.Load(f); err == nil && c.Interface.Name == name {
			if found != file {
				return file // two of them: neither is chosen
			}
			found = f
		}
	}
	return found
}

// errAmbiguous is the error for a name of two interfaces.
func errAmbiguous(name string, all []rundir.Place) error {
	return usagef("%s stands for two running interfaces: %s and %s; give the other word of the pair, or the file", name, all[0], all[1])
}

// only returns the single place with a daemon. It is an error if several have one.
func only(name string, all []rundir.Place) (at rundir.Place, runs bool, err error) {
	all = slices.DeleteFunc(all, func(p rundir.Place) bool {
		c, err := control.Dial(p)
		if err == nil {
			c.Close()
		}
		return errors.Is(err, control.ErrNotRunning)
	})
	switch len(all) {
	case 0:
		return rundir.Place{}, false, nil
	case 1:
		return all[0], true, nil
	}
	return rundir.Place{}, false, errAmbiguous(name, all)
}

// placeNamed returns the place of the daemon of a name, and whether one listens there.
func placeNamed(name string) (at rundir.Place, runs bool, err error) {
	if err := rundir.CheckName(name); err != nil {
		return at, false, &usageError{err}
	}
	file := filepath.Join(configDir(), name+suffix)
	c, unknown := config.Load(file)
	direct := rundir.Place{Device: name}
	if unknown == nil && c.Interface.Name == name {
		// The usual case: file and device have the same name.
		at, runs, err = only(name, append([]rundir.Place{direct}, placesOfService(name)...))
	} else {
		at, runs, err = only(name, compact(append([]rundir.Place{direct}, placesFrom(file)...)))
	}
	if runs || err != nil {
		return at, runs, err
	}
	if unknown == nil && c.Interface.Name != name {
		if at, runs, err = placeOfDevice(c.Interface.Name); runs || err != nil {
			return at, runs, err
		}
	}
	if claimed, runs, err := claimedPlace(name); runs || err != nil {
		return claimed, runs, err
	}
	if at.Device == "" {
		at = direct // a user who may not read the file must give the device's name
	}
	return at, false, nil
}

// placeOfFile is placeNamed for a file. Running daemons come first: by now the file may be wrong,
// gone, or have another name in it.
func placeOfFile(file string) (at rundir.Place, runs bool, err error) {
	if at, runs, err = only(file, placesFrom(file)); runs || err != nil {
		return at, runs, err
	}
	c, err := config.Load(file)
	if err != nil {
		return at, false, err
	}
	return placeOfDevice(c.Interface.Name)
}

// placeOfDevice is placeNamed for the name of a device.
func placeOfDevice(name string) (at rundir.Place, runs bool, err error) {
	direct := rundir.Place{Device: name}
	if at, runs, err = only(name, append([]rundir.Place{direct}, placesOfService(name)...)); runs || err != nil {
		return at, runs, err
	}
	if at, runs, err = claimedPlace(name); runs || err != nil {
		return at, runs, err
	}
	return direct, false, nil
}

// placesFrom returns the places of daemons that may have been started from a file. A daemon
// started by hand names its file, and its socket is in root's directory. It is asked for no more
// than that: the command may be for another one. The other candidate is the file's service.
func placesFrom(file string) (found []rundir.Place) {
	whole, err := filepath.Abs(file)
	if err != nil {
		return nil
	}
	all, _ := rundir.All()
	byHand := slices.DeleteFunc(all, func(p rundir.Place) bool { return p.Service != "" })
	for _, a := range askAll(byHand, control.Part{Brief: true}) {
		if a.err == nil && a.status.File == whole {
			found = append(found, a.at)
		}
	}
	if filepath.Dir(whole) == filepath.Clean(configDir()) {
		found = append(found, placesOfService(strings.TrimSuffix(filepath.Base(whole), suffix))...)
	}
	return found
}

// placesOfService returns the places at which a service may listen. There is one, unless the
// service's directory has more sockets and its file names none of them.
func placesOfService(service string) []rundir.Place {
	all := rundir.OfService(service)
	if len(all) < 2 {
		return all
	}
	device := service
	if c, err := config.Load(filepath.Join(configDir(), service+suffix)); err == nil {
		device = c.Interface.Name
	}
	if at := (rundir.Place{Service: service, Device: device}); slices.Contains(all, at) {
		return []rundir.Place{at}
	}
	return all
}

// claimedPlace returns the place of the service that has a device of that name.
func claimedPlace(device string) (at rundir.Place, runs bool, err error) {
	all, err := rundir.All()
	if err != nil {
		return at, false, err
	}
	var known, unknown []rundir.Place
	var refused error
	for _, p := range all {
		if p.Device != device || p.Service == "" || p.Service == device {
			continue
		}
		switch err := hasDevice(p); {
		case err == nil:
			known = append(known, p)
		case errors.Is(err, fs.ErrPermission): // only root can tell
			unknown = append(unknown, p)
		default:
			refused = err
		}
	}
	if len(known) == 0 {
		known = unknown
	}
	if at, runs, err = only(device, known); runs || err != nil {
		return at, runs, err
	}
	return at, false, refused
}

// hasDevice returns an error unless the service's file names the device that the service
// claims. The file is root's, so it does not lie.
func hasDevice(p rundir.Place) error {
	c, err := config.Load(filepath.Join(configDir(), p.Service+suffix))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return err
	case err == nil && c.Interface.Name == p.Device:
		return nil
	}
	return fmt.Errorf("%s is %w: srdtun@%s answers for it, and its file does not name that device; name the service itself", p.Device, control.ErrNotRunning, p.Service)
}

func compact(all []rundir.Place) (v []rundir.Place) {
	for _, p := range all {
		if !slices.Contains(v, p) {
			v = append(v, p)
		}
	}
	return v
}
