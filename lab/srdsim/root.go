package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// errFailed says that a seed failed, or that a goal was missed, which has been printed.
var errFailed = errors.New("a seed or a goal failed")

func root() *cobra.Command {
	c := &cobra.Command{
		Use:           "srdsim",
		Short:         "Play seeds and experiments in the network simulator",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	c.AddCommand(seedCommand(), soakCommand(), runCommand(), reportCommand(), compareCommand(), sweepCommand())
	return c
}
