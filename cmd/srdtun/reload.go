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
	if name, runs := runningNamed(arg); runs && (errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist)) {
		return change(name, control.Change{How: control.HowReload})
	}
	if err != nil {
		return err
	}
	return change(runningName(c, arg), control.Change{How: control.HowReload, Config: string(config.Format(c))})
}

// runningName is the device that a file is for: with another name in it now, that of
// the argument may run still.
func runningName(c *config.Config, arg string) string {
	if _, runs := runningNamed(c.Interface.Name); runs {
		return c.Interface.Name
	}
	if name, runs := runningNamed(arg); runs {
		return name
	}
	return c.Interface.Name
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
