package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/sim/swarm"
)

// seedCommand returns the subcommand that runs one seed.
func seedCommand() *cobra.Command {
	var verbose bool
	c := &cobra.Command{
		Use:   "seed N",
		Short: "Play one seed; with -v print its plan and every event",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			n, err := strconv.ParseUint(args[0], 10, 64)
			if err != nil {
				return fmt.Errorf("seed %q is not a number", args[0])
			}
			return playSeed(c.OutOrStdout(), n, verbose)
		},
	}
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "print the plan and every event")
	return c
}

func playSeed(out io.Writer, n uint64, verbose bool) error {
	w := bufio.NewWriter(out)
	defer w.Flush()
	var trace io.Writer
	if verbose {
		trace = w
	}
	r := swarm.Play(n, trace)
	fmt.Fprintln(w, r)
	if r.Err != nil {
		return errFailed
	}
	return nil
}
