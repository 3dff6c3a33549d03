package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/handover"
)

func reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload NAME|FILE",
		Short: "Apply the changed file to a running interface",
		Long: `Apply the changed file to a running interface, and print the differences.

Peers, addresses, routes, endpoints, policies, keys and keepalives follow the file. A peer
that has not changed loses no packet. Keys that need a restart are listed. A wrong file
changes nothing.

  + a new key or peer                  - a removed one
  ~ a changed one                      ! one that applies at the next start

Values that look like mistakes are printed as warnings, as by "check", and so are drop-in
files that are left out. If root cannot read the file, the daemon reads it.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeRunning,
		RunE:              func(_ *cobra.Command, args []string) error { return reload(args[0]) },
	}
}

func reload(arg string) error {
	// The credential of a service is a copy of the file from the service's start, so the command
	// reload reads the file itself.
	file, _, err := findFile(arg)
	if err != nil {
		return err
	}
	c, err := config.Load(file)
	at, runs, ambiguous := placeFor(c, file, arg)
	switch {
	case ambiguous != nil:
		return ambiguous
	case runs && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)):
		return change(at, control.Change{How: control.HowReload})
	case err != nil:
		return err
	case !runs:
		at = rundir.Place{Device: c.Interface.Name}
	}
	return handOverTo(at, control.Change{How: control.HowReload, Config: string(config.Format(c))}, func(service string) error {
		whole, err := filepath.Abs(file)
		if err == nil && whole != filepath.Join(configDir(), service+suffix) {
			err = fmt.Errorf("%s runs as srdtun@%s, which uses another file than %s", at.Device, service, file)
		}
		return err
	})
}

// placeFor returns the control socket of the daemon for a file. This is the daemon that was started
// from the file. If there is none, it is the daemon of the device that the file or the argument
// names, unless that was started from another file. The argument c is the file's configuration, or nil if the file is faulty.
func placeFor(c *config.Config, file, arg string) (at rundir.Place, runs bool, err error) {
	if at, runs, err = only(file, placesFrom(file)); runs || err != nil {
		return at, runs, err
	}
	if c != nil {
		if at, runs, err = placeWithDeviceOf(c); runs || err != nil {
			return at, runs, err
		}
	}
	if isFile(arg) {
		return at, false, nil
	}
	return placeNamed(arg)
}

// change sends a change to the daemon of an interface, and prints the differences.
func change(at rundir.Place, what control.Change) error {
	done, err := changed(at, what)
	return printed(at, done, err)
}

func printed(at rundir.Place, done control.Changed, err error) error {
	if err != nil {
		return err
	}
	printChanges(at, done)
	return nil
}

// printChanges prints the differences and the daemon's warnings. It also looks up new host names,
// because the lookups would delay the daemon's reply.
func printChanges(at rundir.Place, done control.Changed) {
	if len(done.Differences) == 0 {
		fmt.Println("nothing has changed")
	}
	for _, d := range done.Differences {
		fmt.Println(d.Text)
	}
	warn(done.Warnings)
	if st, err := status(at); err == nil {
		warn(absent(st, done.Differences, lookUp))
	}
}

func warn(warnings []string) {
	for _, w := range warnings {
		fmt.Fprintln(os.Stderr, "srdtun: warning: "+w)
	}
}

func changed(at rundir.Place, what control.Change) (control.Changed, error) {
	c, err := control.Dial(at)
	if err != nil {
		return control.Changed{}, err
	}
	defer c.Close()
	return c.Change(what)
}

// handOverTo sends a configuration to the daemon of an interface. For a service, the function
// owns() must accept the name of the service.
func handOverTo(at rundir.Place, what control.Change, owns func(service string) error) error {
	c, err := control.Dial(at)
	if err != nil {
		return err
	}
	defer c.Close()
	if s := c.Service(); s != "" {
		if err := owns(s); err != nil {
			return err
		}
	}
	done, err := c.Change(what)
	return printed(at, done, err)
}

// The systemd unit runs restartingCommand as root (ExecStop=). restartingCommand asks systemd
// whether the service is being restarted, and notifies the daemon. The daemon's own user may have
// no permission to ask systemd.
func restartingCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "restarting NAME",
		Hidden: true,
		Short:  "Tell the service NAME whether it is being restarted",
		Args:   takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			if !handover.Restarts(os.Getenv(handover.UnitEnv)) {
				return nil
			}
			for _, at := range placesOfService(args[0]) {
				if c, err := control.Dial(at); err == nil {
					err = c.Restarting()
					return errors.Join(err, c.Close())
				}
			}
			return nil // the daemon has already ended
		},
	}
}
