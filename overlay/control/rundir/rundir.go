// Package rundir says where a running interface keeps its files: the control
// socket, the lock, the state and the peers' addresses that outlive a crash, and the
// log of a background process. All are in one directory and named after the interface.
package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Default is the directory unless the environment variable Env names another.
const Default = "/run/srdtun"

// Env is the environment variable that replaces Default with another absolute
// path, for containers and for several hosts in network namespaces of one
// machine.
const Env = "SRDTUN_RUN_DIR"

// MaxName is the longest interface name in bytes: IFNAMSIZ less the final NUL,
// netdevice(7).
const MaxName = 15

// The kinds of file an interface has.
const (
	Socket = ".sock"
	Lock   = ".lock"
	State  = ".state"
	Places = ".peers"
	Log    = ".log"
)

// Dir returns the directory.
func Dir() string {
	if d := os.Getenv(Env); d != "" {
		return d
	}
	return Default
}

// Reserved reports whether a path would be taken for a file of an interface: they are in
// this directory.
func Reserved(path string) bool {
	kinds := []string{Socket, Lock, State, Places, Log}
	return filepath.Dir(path) == Dir() && slices.Contains(kinds, filepath.Ext(strings.TrimSuffix(path, Temporary)))
}

// Make creates the directory, mode 0755, if it is not there.
func Make() error {
	return os.MkdirAll(Dir(), 0o755)
}

// Path returns the path of the file of the given kind of interface name. It
// does not say whether the file exists. Names which could leave the directory
// are refused, because they come from the command line.
func Path(name, kind string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	return filepath.Join(Dir(), name+kind), nil
}

// CheckName reports why name cannot be an interface name, by the kernel's own
// rule (dev_valid_name in net/core/dev.c).
func CheckName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q is not an interface name", name)
	case len(name) > MaxName:
		return fmt.Errorf("interface name %q is longer than %d bytes", name, MaxName)
	}
	for _, c := range []byte(name) {
		if c == '/' || c == ':' || c <= ' ' || c == 0x7f {
			return fmt.Errorf("interface name %q has a character that is not allowed", name)
		}
	}
	return nil
}

// Names returns the interfaces that have a control socket, sorted. A socket may
// be stale: only a connection tells.
func Names() ([]string, error) {
	entries, err := os.ReadDir(Dir())
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), Socket)
		if ok && CheckName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
