package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"
)

// downTimeout is how long `down` waits for the tear-down. It takes some
// milliseconds, unless the kernel is busy with a large routing table.
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
	c, err := dial(arg)
	if err != nil {
		return err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), downTimeout)
	defer cancel()
	return c.Down(ctx)
}
