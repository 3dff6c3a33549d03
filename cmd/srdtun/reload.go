package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
)

func reloadCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "reload NAME|FILE",
		Short: "Have a running interface take over its changed file",
		Long: `Have a running interface take over its changed file, and print what has changed.

Peers come and go, and addresses, routes, endpoints, policies, keys and keepalives
follow the file. A peer that has not changed loses no packet. Keys that need a restart
are named. A file that is wrong changes nothing.

  + a key or a peer that is new      - one that is gone
  ~ one that is otherwise            ! one that counts at the next start

Where this user cannot read the file, the daemon reads it.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeRunning,
		RunE:              func(_ *cobra.Command, args []string) error { return reload(args[0]) },
	}
}

func reload(arg string) error {
	// Not the copy that a service has: that is the file as it was.
	file, _, err := configFile(arg)
	if err != nil {
		return err
	}
	c, err := config.Load(file)
	name, runs := runningFor(c, file, arg)
	if runs && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)) {
		return change(name, control.Change{How: control.HowReload})
	}
	if err != nil {
		return err
	}
	if !runs {
		name = c.Interface.Name
	}
	return change(name, control.Change{How: control.HowReload, Config: string(config.Format(c))})
}

// runningFor returns the device that a file is for: the one that was started from it, or else
// has the name in it or that of the argument. c is what is in the file, or nil.
func runningFor(c *config.Config, file, arg string) (name string, runs bool) {
	if name, runs = runningFrom(file); runs {
		return name, true
	}
	if c != nil {
		if name, runs = runningNamed(c.Interface.Name); runs {
			return name, true
		}
	}
	return runningNamed(arg)
}

// change asks the daemon of an interface for a change and prints what it did.
func change(name string, what control.Change) error {
	diff, err := changed(name, what)
	if err != nil {
		return err
	}
	if len(diff) == 0 {
		fmt.Println("nothing has changed")
	}
	for _, d := range diff {
		fmt.Println(d.Text)
	}
	return nil
}

func changed(name string, what control.Change) ([]control.Difference, error) {
	c, err := control.Dial(name)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Change(what)
}
