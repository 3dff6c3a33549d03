package netconf

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// maxStateFile bounds the size of the state file in bytes. It is many times the size of 4096 routes
// of 100 bytes each.
const maxStateFile = 4 << 20

// stateVersion is the version of the state file's format. A file of another version is ignored.
const stateVersion = 1

// StatePath returns the path of the state file of interface name.
func StatePath(name string) (string, error) { return rundir.Path(name, rundir.State) }

// Recover removes the settings that a killed daemon of interface name left behind. No daemon of
// that name may be running, so the caller must hold the interface's lock.
func Recover(name string) error {
	path, err := StatePath(name)
	if err != nil {
		return err
	}
	return recoverFile(path)
}

// left is the content of the state file: the settings that can outlive the process.
type left struct {
	Version   int         `json:"version"`
	Namespace string      `json:"network_namespace"`
	Boot      string      `json:"boot_id,omitempty"` // a service's file outlives a reboot
	Routes    []routeStep `json:"routes"`
	Rules     []ruleStep  `json:"rules"`
}

// leftovers returns the steps whose settings can outlive the process. The function leftovers()
// omits routes of the main table, because they vanish with the interface.
func leftovers(steps []step) left {
	l := left{Version: stateVersion, Namespace: namespace(), Boot: rundir.Boot()}
	for _, s := range steps {
		switch s := s.(type) {
		case routeStep:
			if s.Table != tableMain {
				l.Routes = append(l.Routes, s)
			}
		case ruleStep:
			l.Rules = append(l.Rules, s)
		}
	}
	return l
}

func (l left) empty() bool { return len(l.Routes) == 0 && len(l.Rules) == 0 }

// write replaces the state file atomically, so a reader finds either the whole old content or the
// whole new content.
func (l left) write(path string) error {
	if err := rundir.Make(); err != nil {
		return err
	}
	data, err := json.Marshal(l)
	if err != nil {
		return err
	}
	return rundir.Replace(path, data, 0o600)
}

func recoverFile(path string) error {
	l, err := readLeft(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := l.remove(); err != nil {
		return fmt.Errorf("removing the settings of an earlier run: %w", err)
	}
	return os.Remove(path)
}

func readLeft(path string) (l left, err error) {
	data, err := rundir.Read(path, maxStateFile)
	if err == nil {
		l, err = parseLeft(path, data)
	}
	if err != nil {
		return left{}, fmt.Errorf("state of an earlier run: %w", err)
	}
	return l, nil
}

// Damaged returns the error of Recover if it cannot use the state file of interface name.
func Damaged(name string) error {
	path, err := StatePath(name)
	if err == nil {
		_, err = readLeft(path)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

func parseLeft(path string, data []byte) (left, error) {
	var l left
	if err := json.Unmarshal(data, &l); err != nil {
		return left{}, fmt.Errorf("%s is damaged (%w); remove it, and routes and rules that are left", path, err)
	}
	if l.Version != stateVersion {
		return left{}, fmt.Errorf("%s: format version %d is not known", path, l.Version)
	}
	for _, r := range l.Routes {
		if !r.Prefix.IsValid() {
			return left{}, fmt.Errorf("%s: a route has no prefix", path)
		}
	}
	return l, nil
}

// elsewhere reports whether the state file is from another network namespace or another boot. In
// that case, equal routes and rules on this host may belong to other programs. State files of an
// earlier version do not contain the boot's identifier.
func (l left) elsewhere() bool {
	return l.Namespace != namespace() || l.Boot != "" && l.Boot != rundir.Boot()
}

// remove removes the rules in the state file, then the routes in their tables. The method
// remove() does nothing in another network namespace or after another boot.
func (l left) remove() error {
	if l.elsewhere() {
		return nil
	}
	nl := new(netlink.Handle) // opens a socket for each request
	var errs []error
	for _, r := range l.Rules {
		errs = append(errs, r.undo(nl))
	}
	for _, r := range l.Routes {
		errs = append(errs, r.undo(nl))
	}
	return errors.Join(errs...)
}

func namespace() string {
	var st unix.Stat_t
	if err := unix.Stat("/proc/thread-self/ns/net", &st); err != nil {
		return "unknown"
	}
	return fmt.Sprintf("net:[%d]", st.Ino)
}
