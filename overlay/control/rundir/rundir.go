// Package rundir locates the files of a running interface: the control socket, the lock file,
// and the log of a background process. The files with the state and the peers' addresses outlive
// a crash. The name of each file begins with the name of the interface.
//
//	/run/srdtun/lab.sock        of a daemon that root started by hand
//	/run/srdtun/hub/lab.sock    of the service srdtun@hub, whose device is named lab
//
// Root owns the run directory, so only root creates names in it. Each service has its own user,
// who owns only the subdirectory with the service's name.
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

// Default is the run directory, unless the environment variable Env sets another.
const Default = "/run/srdtun"

// Env is the environment variable with an absolute path that replaces Default. Containers use it,
// and several hosts that are network namespaces of one machine.
const Env = "SRDTUN_RUN_DIR"

// MaxName is the length of the longest interface name in bytes, which is IFNAMSIZ minus one for
// the final NUL (netdevice(7)).
const MaxName = 15

// These constants are the suffixes of an interface's files.
const (
	Socket = ".sock"
	Lock   = ".lock"
	State  = ".state"
	Peers  = ".peers"
	Log    = ".log"
)

// Dir returns the run directory.
func Dir() string {
	if d := os.Getenv(Env); d != "" {
		return d
	}
	return Default
}

// Reserved reports whether a path looks like a file of an interface. The files of interfaces are
// in the run directory, and in the subdirectories of services.
func Reserved(path string) bool {
	kinds := []string{Socket, Lock, State, Peers, Log}
	dir := filepath.Dir(path)
	return (dir == Dir() || filepath.Dir(dir) == Dir()) && slices.Contains(kinds, filepath.Ext(strings.TrimSuffix(path, Temporary)))
}

// These environment variables contain the directories of this service, from the service manager
// (systemd.exec(5)). The runtime directory is removed when the service stops. The state
// directory outlives a crash.
const (
	runtimeEnv = "RUNTIME_DIRECTORY"
	stateEnv   = "STATE_DIRECTORY"
)

// Make creates the run directory with mode 0755 if it is missing. A process of root makes root the
// owner of the default directory again, because earlier versions gave it to a common user of all
// services.
func Make() error {
	if err := usable(); err != nil {
		return err
	}
	if err := os.MkdirAll(Dir(), 0o755); err != nil || os.Geteuid() != 0 || Dir() != Default {
		return Explain(err)
	}
	return os.Lchown(Default, 0, 0)
}

// usable returns an error if the directory in Env cannot be the run directory. The run directory
// need not exist.
func usable() error {
	dir := os.Getenv(Env)
	if dir == "" {
		return nil
	}
	no := func(why string) error { return fmt.Errorf("%s=%q: %s", Env, dir, why) }
	if !filepath.IsAbs(dir) {
		return no("not an absolute path")
	}
	if over := len(filepath.Join(dir, "x"+Socket+Temporary)) - maxSocketPath; over > 0 {
		return no(fmt.Sprintf("%d bytes too long for the address of a socket in it, which has %d at most", over, maxSocketPath))
	}
	st, err := os.Lstat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // Make creates it
	case err != nil:
		return Explain(err)
	case st.Mode()&os.ModeSymlink != 0:
		return no("a symbolic link, which is not followed; give the directory itself")
	case !st.IsDir():
		return no("not a directory")
	case os.Geteuid() == 0 && st.Mode().Perm()&0o002 != 0 && st.Mode()&os.ModeSticky == 0: // only root can change the mode
		return no(fmt.Sprintf("any user may replace files in it (mode %04o); run: chmod o-w %s", st.Mode().Perm(), dir))
	}
	return nil
}

// maxSocketPath is the length of the longest path of a unix socket: the size of sun_path minus
// one for the final NUL, unix(7).
const maxSocketPath = 107

// Explain adds advice to an error from writing to the run directory.
func Explain(err error) error {
	switch {
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EDQUOT):
		return fmt.Errorf("%w (free space there, or name another run directory in %s)", err, Env)
	case errors.Is(err, unix.EROFS):
		return fmt.Errorf("%w (the run directory must be writable: mount a tmpfs there, or name another in %s)", err, Env)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%w (the run directory must belong to the user who starts the daemon: be root, or name another in %s)", err, Env)
	}
	return err
}

// Path returns the path of a file of interface name, in this process's directory; kind is its
// suffix. The file at the returned path need not exist. Path refuses names that could lead out
// of the directory, because names come from the command line.
func Path(name, kind string) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	return filepath.Join(own(kind), name+kind), nil
}

// own returns this process's directory for a kind of file. A service has its own directories.
func own(kind string) string {
	dir := os.Getenv(runtimeEnv)
	if filepath.Dir(dir) != filepath.Clean(Dir()) {
		return Dir()
	}
	if kind != State && kind != Peers {
		return dir
	}
	// The path from the service manager may contain a symbolic link that the manager made.
	if state, err := filepath.EvalSymlinks(os.Getenv(stateEnv)); err == nil && filepath.IsAbs(state) {
		return state
	}
	return dir
}

// Refuse writes the reason why this process's service must not start. Root's part of the start
// calls it, because the service sees only copies of its files. An error of that part alone would
// make the service manager try again for ever.
func Refuse(why string) error { return Replace(refusal(), []byte(why), 0o600) }

// Refused returns the reason that Refuse wrote in this start of the service, or "", and removes the
// file.
func Refused() string {
	if own(Lock) == Dir() {
		return "" // not a service
	}
	why, err := Read(refusal(), maxRefusal)
	if err == nil {
		err = os.Remove(refusal())
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err.Error()
	}
	return string(why)
}

// maxRefusal bounds the length of a reason in bytes.
const maxRefusal = 4096

func refusal() string { return filepath.Join(own(Lock), "refused") }

// CheckName returns an error if name cannot be an interface name, by the kernel's rule
// (dev_valid_name in net/core/dev.c). A name like an option is refused, too, because commands would
// read it as an option.
func CheckName(name string) error {
	switch {
	case name == "" || name == "." || name == "..":
		return fmt.Errorf("%q is not an interface name", name)
	case len(name) > MaxName:
		return fmt.Errorf("interface name %q is longer than %d bytes", name, MaxName)
	case name[0] == '-':
		return fmt.Errorf("interface name %q begins with \"-\", as an option does", name)
	}
	for _, c := range []byte(name) {
		if c == '/' || c == ':' || c <= ' ' || c == 0x7f {
			return fmt.Errorf("interface name %q has a character that is not allowed", name)
		}
	}
	return nil
}

// Boot returns the identifier of the machine's current boot, or "" if it is unknown. Files that
// outlive a reboot contain the boot's identifier.
func Boot() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}
