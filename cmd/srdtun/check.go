package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/daemon"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check NAME|FILE",
		Short: "Check a configuration",
		Long: `Check a configuration and the files of its [peers] dir: the first fault is named with
file, line and key. The daemon leaves a wrong file of that directory out alone. What is
right and looks like a mistake, on this host as it is now, is a line on standard error
that ends with "(warning)"; the exit code stays 0. So is what the service srdtun@NAME
could not read, if root checks a file where that is installed.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := load(args[0])
			if err != nil {
				return err
			}
			if c, err = config.CheckDropIns(c); err != nil {
				return err
			}
			for _, d := range append(daemon.Doubts(c), unitOf(c.File).doubts(c)...) {
				fmt.Fprintf(os.Stderr, "srdtun: %v (warning)\n", d)
			}
			_, err = fmt.Printf("%s: ok: interface %s, %s\n", c.File, c.Interface.Name, peersOf(c))
			return err
		},
	}
}

// peersOf says how many peers there are. Without any, a file is right and of no use.
func peersOf(c *config.Config) string {
	switch {
	case len(c.Peers) > 0:
		return count(len(c.Peers), "peer")
	case c.PeersDir != "":
		return "no peers but those of files in " + c.PeersDir
	}
	return "no peers yet: add a [[peer]] for whom to talk to"
}

// count is a number and its noun: "1 peer", "2 peers".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
