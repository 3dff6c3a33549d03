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

// A NAME is the name of a file or of a device. For instance, if hub.toml has a device named wg9,
// the interface can be called hub or wg9. The command up first looks for a file with this name.
//
// Other commands first look for daemons whose names come from root. These are a daemon that root
// started for the device NAME or from NAME.toml, and the service srdtun@NAME. If two such daemons
// run, the commands refuse the NAME.
//
// If there is no such daemon, the commands look for another service with a device NAME. A service
// can claim any device name, so the service's file must also contain the name. If two services have
// a device NAME, the commands choose neither.

// fileNamed returns the configuration file that a NAME denotes.
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
				return file // there are two such files, so neither is chosen
			}
			found = f
		}
	}
	return found
}

// errAmbiguous is the error for a name that two running interfaces share.
func errAmbiguous(name string, all []rundir.Place) error {
	return usagef("%s stands for two running interfaces: %s and %s; give the other word of the pair, or the file", name, all[0], all[1])
}

// only returns the control socket on which a daemon listens, if exactly one daemon does. If several
// daemons listen, only() returns an error.
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

// placeNamed returns the control socket for a name, and whether a daemon listens there.
func placeNamed(name string) (at rundir.Place, runs bool, err error) {
	if err := rundir.CheckName(name); err != nil {
		return at, false, &usageError{err}
	}
	file := filepath.Join(configDir(), name+suffix)
	c, unknown := config.Load(file)
	direct := rundir.Place{Device: name}
	if unknown == nil && c.Interface.Name == name {
		// The file and the device usually have the same name, which this code finds without
		// searching.
		at, runs, err = only(name, append([]rundir.Place{direct}, placesOfService(name)...))
	} else {
		at, runs, err = only(name, compact(append([]rundir.Place{direct}, placesFrom(file)...)))
	}
	if runs || err != nil {
		return at, runs, err
	}
	if unknown == nil && c.Interface.Name != name {
		if at, runs, err = placeWithDeviceOf(c); runs || err != nil {
			return at, runs, err
		}
	}
	if claimed, runs, err := claimedPlace(name); runs || err != nil {
		return claimed, runs, err
	}
	if at.Device == "" {
		at = direct // a user who may not read the file must use the device's name
	}
	return at, false, nil
}

// placeOfFile returns the control socket for a file, and whether a daemon listens there. Running
// daemons have precedence over the file's content, because the file may have changed since their
// start.
func placeOfFile(file string) (at rundir.Place, runs bool, err error) {
	if at, runs, err = only(file, placesFrom(file)); runs || err != nil {
		return at, runs, err
	}
	c, err := config.Load(file)
	if err != nil {
		return at, false, err
	}
	return placeWithDeviceOf(c)
}

// placeWithDeviceOf is like placeOfDevice, for the device that a file names. Several files may name
// one device. If the daemon was started from another file, a command for this file must not reach
// it.
func placeWithDeviceOf(c *config.Config) (at rundir.Place, runs bool, err error) {
	at, runs, err = placeOfDevice(c.Interface.Name)
	if runs {
		if other := otherFile(at, c.File); other != "" {
			return at, false, fmt.Errorf("%s is %w: its device %s runs from %s; give that file, or the name of the device", c.File, control.ErrNotRunning, at.Device, other)
		}
	}
	return at, runs, err
}

// otherFile returns the file from which a daemon was started, if it is another file than the given
// one. It returns "" if it cannot tell: the daemon's file may have been renamed, or belong to
// another mount namespace.
func otherFile(at rundir.Place, file string) string {
	// A service can claim to run from any file.
	theirs := filepath.Join(configDir(), at.Service+suffix)
	if at.Service == "" {
		st, err := askWithin(at, control.Part{Brief: true}, 0)
		if err != nil {
			return ""
		}
		theirs = st.File
	}
	a, err := os.Stat(theirs)
	if err != nil {
		return ""
	}
	if b, err := os.Stat(file); err != nil || os.SameFile(a, b) {
		return ""
	}
	return theirs
}

// placeOfDevice returns the control socket for a device, and whether a daemon listens there.
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

// placesFrom returns the control sockets of daemons that may have been started from a file. A
// daemon started by hand reports its file, and has its socket in root's directory. To compare the
// file, placesFrom requests only the brief status, because the command may be for another daemon.
// The service named after the file is a further candidate.
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

// placesOfService returns the control sockets on which a service may listen. The result has
// several sockets only if the service has several and its file names none of them.
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

// claimedPlace returns the control socket of the service that claims a device of this name.
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
		case errors.Is(err, fs.ErrPermission): // only root can read the file
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

// hasDevice returns an error unless the service's file names the device that the service claims.
// Only root can write the service's file, so the device name in it is reliable.
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
