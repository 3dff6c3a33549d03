package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/overlay/control"
)

// downTimeout bounds the wait for the tear-down. A tear-down takes some milliseconds, or longer
// if the kernel is busy with a large routing table.
const downTimeout = 10 * time.Second

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "down NAME|FILE",
		Short:             "End a running interface, and wait until it is gone",
		Args:              takes(1, 1),
		ValidArgsFunction: completeRunning,
		RunE:              func(_ *cobra.Command, args []string) error { return down(args[0]) },
	}
}

func down(arg string) error {
	return asking(arg, func(c *control.Client) error {
		ctx, cancel := context.WithTimeout(context.Background(), downTimeout)
		defer cancel()
		return c.Down(ctx)
	})
}
