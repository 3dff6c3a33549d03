package main

import (
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/view"
	"github.com/srdtun/srdtun/overlay/control"
)

type flowsFlags struct {
	over time.Duration
	most int
	json bool
}

func flowsCommand() *cobra.Command {
	var f flowsFlags
	c := &cobra.Command{
		Use:   "flows NAME|FILE",
		Short: "Count inner flows for a moment, and show the largest",
		Long: `Count inner flows for a moment, and show the largest ones. For each there are its
addresses and ports, the bits sent and received in a second, the frames that wait for
an earlier one ("held"), the frames that arrived before an earlier one ("reord"), and
the longest wait ("hold"). Both directions of a connection are one line; "local" is the
end on this side. The daemon counts only while this command runs.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeRunning,
		RunE:              func(_ *cobra.Command, args []string) error { return printFlows(args[0], f) },
	}
	c.Flags().DurationVar(&f.over, "for", time.Second, "how long to count, up to 3s")
	c.Flags().IntVarP(&f.most, "number", "n", 20, "how many flows to show")
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	return c
}

func printFlows(arg string, f flowsFlags) error {
	switch {
	case f.over < control.FlowsLeast || f.over > control.FlowsMost:
		return usagef("--for %v is not between %v and %v", f.over, control.FlowsLeast, control.FlowsMost)
	case f.most < 1:
		return usagef("--number %d shows nothing", f.most)
	}
	return asking(arg, func(c *control.Client) error {
		v, err := c.Flows(f.over)
		if err != nil {
			return err
		}
		if f.json {
			return writeJSON(os.Stdout, v)
		}
		return view.Flows(os.Stdout, v, f.most, columns(os.Stdout))
	})
}
