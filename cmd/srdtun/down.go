package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/overlay/control"
)

// downTimeout bounds the wait for the tear-down. A tear-down takes some milliseconds, or longer
// if the kernel is busy with a large routing table. Commands of pre_down and post_down that do not
// end take 10 s each.
const downTimeout = 30 * time.Second

func downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down NAME|FILE",
		Short: "End a running interface, and wait until it is gone",
		Long: `End a running interface, and wait until it is gone. If a command of pre_down or post_down
fails, the interface ends all the same. "down" then prints the command with its exit status,
and ends with exit code 1.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeRunning,
		RunE:              func(_ *cobra.Command, args []string) error { return down(args[0]) },
	}
}

func down(arg string) error {
	return asking(arg, func(c *control.Client) error {
		ctx, cancel := context.WithTimeout(context.Background(), downTimeout)
		defer cancel()
		faults, err := c.Down(ctx)
		if err == nil && len(faults) > 0 {
			err = fmt.Errorf("%s is gone, but %s", c.Device(), strings.Join(faults, "; "))
		}
		return err
	})
}
