package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/holder"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/daemon"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check NAME|FILE",
		Short: "Check a configuration",
		Long: `Check a configuration and the files of its [peers] dir. The first fault of each file is
printed with file, line and key. The daemon starts without a wrong file of that directory, and
keeps all other peers. But "check" then exits with 78, so that a mistake is found before the
start. A wrong file of the directory's owner, if that is not root, is a warning.

A line that ends with "(warning)" is about a value that is valid but looks like a mistake on
this host; the exit code stays 0. If root checks a file of the service srdtun@NAME, there is
a warning for each file, program, socket and port that the service cannot use. "check" also
foresees the warnings of the start: another file with the same device or private key,
another tunnel with the default route, a missing route to a peer, IPv6 that is off, metrics
that everybody can read, and a device, address or port that another process has. If this
process could not start the interface now, a warning has the words of the start.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := loadFound(args[0])
			if err != nil {
				return err
			}
			c, faults, guests, err := judgeDropIns(c)
			if err != nil {
				return err
			}
			tellFiles(faults, ": left out")
			tellFiles(guests, ": left out (warning)")
			if len(faults) > 0 {
				return &toldError{faults[0]}
			}
			for _, d := range doubts(c) {
				fmt.Fprintf(os.Stderr, "srdtun: %v (warning)\n", d)
			}
			_, err = fmt.Printf("%s: ok: interface %s, %s\n", c.File, c.Interface.Name, peersOf(c))
			return err
		},
	}
}

// judgeDropIns judges the drop-in files with the rights that the daemon will have. The user of a
// service may read files that root may read only by its capabilities, so for a service the doubts
// of the unit name files that the user cannot read.
func judgeDropIns(c *config.Config) (with *config.Config, faults, guests []error, err error) {
	judge := func() { with, faults, guests, err = config.JudgeDropIns(c) }
	if unitOf(c.File) != nil {
		judge()
	} else {
		_ = confined(judge) // a daemon that cannot reduce its rights keeps them, too
	}
	return with, faults, guests, err
}

// doubts returns the warnings of a start of c on this host.
func doubts(c *config.Config) []error {
	others, own := configured(c), daemonOf(c.Interface.Name)
	return slices.Concat(daemon.Doubts(c, time.Now()), doubtDevice(c, others), doubtClashes(c, others), conflicts(c),
		daemon.DoubtStart(c, others), daemon.DoubtTaken(c, own), daemon.DoubtRefused(c, own), unitOf(c.File).doubts(c))
}

// daemonOf returns the process that runs the interface of that name, as its lock tells.
func daemonOf(name string) holder.Process {
	all, _ := rundir.All() // without a run directory no daemon runs
	for _, at := range all {
		if path, err := at.Socket(); err == nil && at.Device == name {
			if p := rundir.Holder(path); p.PID != 0 {
				return p
			}
		}
	}
	return holder.Process{}
}

// mostFiles bounds the number of lines about faulty drop-in files. Another user may choose the
// number of files.
const mostFiles = 20

// tellFiles prints the faults of drop-in files. The faults in another user's files are only
// warnings: the daemon leaves out such files, and their owner must not be able to make root's check
// fail.
func tellFiles(faults []error, then string) {
	for _, f := range faults[:min(len(faults), mostFiles)] {
		fmt.Fprintf(os.Stderr, "srdtun: %v%s%s\n", f, sudoHint(f), then)
	}
	if n := len(faults) - mostFiles; n > 0 {
		fmt.Fprintf(os.Stderr, "srdtun: %d more files of [peers] dir have faults%s\n", n, then)
	}
}

// peersOf returns the number of peers in a configuration as text. A configuration without peers is
// valid but useless.
func peersOf(c *config.Config) string {
	switch {
	case len(c.Peers) > 0:
		return count(len(c.Peers), "peer")
	case c.PeersDir != "":
		return "no peers except from files in " + c.PeersDir + misnamed(c.PeersDir)
	}
	return "no peers yet: add a [[peer]]"
}

// misnamed returns a hint if a directory of drop-in files has files, but none with the right name.
func misnamed(dir string) string {
	entries, _ := os.ReadDir(dir) // the check of the drop-in files has read it
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), ".") })
	if len(entries) == 0 || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return config.IsDropIn(e.Name()) }) {
		return ""
	}
	return ", none of which is named *.toml"
}

// count returns a number and its noun: "1 peer", "2 peers".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
