package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/daemon"
)

// When a default route changes, the outer packets of one tunnel may enter another tunnel. The
// daemons report such conflicts as events. The functions in this file report them in the command
// with which the user makes the change.

// interfaces returns the states of the running interfaces. It leaves out daemons that do not reply.
func interfaces() (all []*control.Status) {
	list, _, _ := askRunning(control.Part{Reached: true}) // the paths have the destinations of outer packets
	for _, r := range list {
		all = append(all, r.Status)
	}
	return all
}

// conflicts returns the conflicts of c with other tunnels, now or after the start of c. In a
// conflict, the outer packets of c enter a tunnel, or the outer packets of another tunnel enter the
// interface of c.
func conflicts(c *config.Config) []error { return daemon.DoubtRoutes(c, interfaces()) }

// doubtDevice returns a warning if a start of c would fail because another file names the same
// device.
func doubtDevice(c *config.Config, others []*config.Config) []error {
	if at, runs, _ := placeOfDevice(c.Interface.Name); runs {
		if other := otherFile(at, c.File); other != "" {
			return []error{c.Doubt("interface", "name", "the start would fail now: %s runs already, from %s", c.Interface.Name, other)}
		}
	}
	var same []string
	for _, o := range others {
		if o.Interface.Name == c.Interface.Name {
			same = append(same, o.File)
		}
	}
	if len(same) == 0 {
		return nil
	}
	return []error{c.Doubt("interface", "name", "other files name this device too: %s; only one of the interfaces can be up", strings.Join(same[:min(len(same), fewNamed)], ", "))}
}

// fewNamed bounds the files that a warning names.
const fewNamed = 4

// runningConflicts returns the conflicts of all running interfaces.
func runningConflicts() (lines []string) {
	all := interfaces()
	for _, st := range all {
		lines = append(lines, conflictsOf(st, all)...)
	}
	return lines
}

// conflictsOf returns the conflicts of one running interface.
func conflictsOf(st *control.Status, all []*control.Status) (lines []string) {
	for _, line := range slices.Concat(st.Conflicts, daemon.Enters(st.Interface, all, func() (*control.Status, error) {
		r, err := askOne(st.Interface, control.Part{})
		return r.Status, err
	})) {
		lines = append(lines, st.Interface+": "+line)
	}
	return lines
}

// warnStarted prints the conflicts of an interface that was started a moment ago.
func warnStarted(name string) {
	all := interfaces()
	for _, st := range all {
		if st.Interface != name {
			continue
		}
		for _, line := range conflictsOf(st, all) {
			fmt.Fprintf(os.Stderr, "srdtun: %s (warning)\n", strings.TrimSpace(line))
		}
	}
}

// configuredMost bounds the files that a check compares with its own.
const configuredMost = 256

// configured returns the configurations in the configuration directory except c. It leaves out
// faulty files, and files that the caller cannot read.
func configured(c *config.Config) (all []*config.Config) {
	files, err := filepath.Glob(filepath.Join(configDir(), "*"+suffix))
	if err != nil {
		return nil
	}
	own, _ := os.Stat(c.File)
	for _, f := range files[:min(len(files), configuredMost)] {
		if info, err := os.Stat(f); err != nil || own != nil && os.SameFile(own, info) {
			continue
		}
		if other, err := config.Load(f); err == nil {
			all = append(all, other)
		}
	}
	return all
}
