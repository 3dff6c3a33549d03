// Package rundir says where a running interface keeps its files: the control
// socket, the lock, the state and the peers' addresses that outlive a crash, and the
// log of a background process. All are named after the interface.
//
//	/run/srdtun/lab.sock        of a daemon that root started by hand
//	/run/srdtun/hub/lab.sock    of the service srdtun@hub, whose device is named lab
//
// The directory is root's, so that nobody but root gives a name in it. Each service has a
// user of its own, who owns the directory that is named after the service and no other.
package rundir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
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
// this directory, and in those of services below it.
func Reserved(path string) bool {
	kinds := []string{Socket, Lock, State, Places, Log}
	dir := filepath.Dir(path)
	return (dir == Dir() || filepath.Dir(dir) == Dir()) && slices.Contains(kinds, filepath.Ext(strings.TrimSuffix(path, Temporary)))
}

// What the service manager made for this service, systemd.exec(5): the directory of what
// runs, which goes with it, and that of what outlives a crash.
const (
	runtimeEnv = "RUNTIME_DIRECTORY"
	stateEnv   = "STATE_DIRECTORY"
)

// Make creates the directory, mode 0755, if it is not there. Root takes the default one
// back from a user: an earlier version gave it to that of all services.
func Make() error {
	if err := os.MkdirAll(Dir(), 0o755); err != nil || os.Geteuid() != 0 || Dir() != Default {
		return Explain(err)
	}
	return os.Lchown(Default, 0, 0)
}

// Explain adds to an error of making the directory, or the first file in it, what helps.
func Explain(err error) error {
	switch {
	case errors.Is(err, unix.EROFS), errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w (the run directory must be writable: mount a tmpfs there, or name another in %s)", err, Env)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w (the run directory must belong to the user who starts the daemon: be root, or name another in %s)", err, Env)
	}
	return err
}

// Path returns the path of the file of the given kind that this process has for interface
// name. It does not say whether the file exists. Names which could leave the directory
// are refused, because they come from the command line.
func Path(name, kind string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	return filepath.Join(own(kind), name+kind), nil
}

// own is where this process keeps a kind of file: as a service in directories of its own.
func own(kind string) string {
	dir := os.Getenv(runtimeEnv)
	if filepath.Dir(dir) != filepath.Clean(Dir()) {
		return Dir()
	}
	if kind != State && kind != Places {
		return dir
	}
	// The name that the service manager gives is a link of its own.
	if state, err := filepath.EvalSymlinks(os.Getenv(stateEnv)); err == nil && filepath.IsAbs(state) {
		return state
	}
	return dir
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

// Boot identifies the time since this machine was started; "": nobody tells. Files of a
// service outlive that.
func Boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
