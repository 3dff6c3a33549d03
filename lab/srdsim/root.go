package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// errFailed is the error if a seed failed or a goal was missed. The failure has already been
// printed.
var errFailed = errors.New("a seed or a goal failed")

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "srdsim",
		Short:         "Play seeds and experiments in the network simulator",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(seedCommand(), soakCommand(), runCommand(), reportCommand(), compareCommand(), paperCommand(), sweepCommand())
	return c
}
