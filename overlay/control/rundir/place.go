package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/internal/holder"
)

// Place locates a daemon's socket by the device and by the service instance that owns the
// socket's directory. Only root creates the directories of services. The user of a service names
// the sockets in its directory, and may choose the name of any device.
type Place struct {
	Service string // "": root's directory
	Device  string
}

// String returns the text for messages: the device, and the service if their names differ.
func (p Place) String() string {
	if p.Service == "" || p.Service == p.Device {
		return p.Device
	}
	return p.Device + " of srdtun@" + p.Service
}

// Socket returns the path of the daemon's socket. Socket refuses names that could lead out of
// the directory.
func (p Place) Socket() (string, error) {
	if err := CheckName(p.Device); err != nil {
		return "", err
	}
	if p.Service == "" {
		return filepath.Join(Dir(), p.Device+Socket), nil
	}
	if p.Service != filepath.Base(p.Service) || strings.HasPrefix(p.Service, ".") {
		return "", fmt.Errorf("%q is not a name of a service", p.Service)
	}
	return filepath.Join(Dir(), p.Service, p.Device+Socket), nil
}

// Owner returns the user that owns the socket's directory: the user of the service.
func (p Place) Owner() (uid uint32, err error) {
	path, err := p.Socket()
	if err != nil {
		return 0, err
	}
	st, err := statOf(filepath.Dir(path))
	return st.Uid, err
}

// Guarded returns an error if a user other than root and the caller could have created the
// services' directories.
func (p Place) Guarded() error {
	above, err := statOf(Dir())
	switch {
	case err != nil:
		return err
	case above.Uid != 0 && int(above.Uid) != os.Geteuid():
		return fmt.Errorf("the run directory %s belongs to user %d", Dir(), above.Uid)
	case above.Mode&othersWrite != 0:
		return fmt.Errorf("others may write to the run directory %s (mode %04o)", Dir(), above.Mode&0o7777)
	}
	return nil
}

func statOf(path string) (st unix.Stat_t, err error) {
	if err := unix.Stat(path, &st); err != nil {
		return st, &os.PathError{Op: "stat", Path: path, Err: err}
	}
	return st, nil
}

const othersWrite = 0o022

// All returns the places of all control sockets, sorted by device name. A listed socket may be
// stale. Only an attempt to connect shows that.
func All() ([]Place, error) {
	entries, err := os.ReadDir(Dir())
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := placesIn("", -1)
	for _, e := range entries {
		if e.IsDir() {
			all = append(all, placesIn(e.Name(), serviceFiles)...)
		}
	}
	slices.SortFunc(all, func(a, b Place) int {
		return strings.Compare(a.Device+"/"+a.Service, b.Device+"/"+b.Service)
	})
	return all, nil
}

// OfService returns the sockets in the directory of a service.
func OfService(service string) []Place {
	if _, err := (Place{service, "x"}).Socket(); err != nil || service == "" {
		return nil
	}
	if st, err := os.Lstat(filepath.Join(Dir(), service)); err != nil || !st.IsDir() {
		return nil
	}
	return placesIn(service, serviceFiles)
}

// serviceFiles bounds the files read in a service's directory, because its user can put any
// number there. A daemon has three files in its directory, and a fourth while it writes one.
const serviceFiles = 16

// Holder returns the process that holds the lock beside a socket.
func Holder(socket string) holder.Process {
	return holder.OfLock(strings.TrimSuffix(socket, Socket) + Lock)
}

// Listens reports whether a daemon still listens at the socket that it made at the path `socket`,
// even if the file there is now another one.
func Listens(daemon holder.Process, socket string) bool { return daemon.Listens(socket + Temporary) }

// placesIn returns the sockets among the first `most` files of a service's directory, and the held
// locks of daemons whose sockets are gone. If the directory is unreadable, placesIn returns nothing,
// because then the service is just ending.
func placesIn(service string, most int) (all []Place) {
	f, err := os.Open(filepath.Join(Dir(), service))
	if err != nil {
		return nil
	}
	defer f.Close()
	entries, _ := f.ReadDir(most)
	there := map[string]bool{}
	for _, e := range entries {
		there[e.Name()] = true
	}
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), Socket)
		if alone, locks := strings.CutSuffix(e.Name(), Lock); locks && !there[alone+Socket] && holder.OfLock(filepath.Join(f.Name(), e.Name())).PID != 0 {
			name, ok = alone, true
		}
		if ok && !e.IsDir() && CheckName(name) == nil {
			all = append(all, Place{service, name})
		}
	}
	return all
}

// Names returns the sorted names of all interfaces with a control socket, without duplicates.
func Names() ([]string, error) {
	all, err := All()
	var names []string
	for _, p := range all {
		names = append(names, p.Device)
	}
	return slices.Compact(names), err
}
