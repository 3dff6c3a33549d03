package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

func checkCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "check NAME|FILE",
		Short:             "Check a configuration",
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE: func(_ *cobra.Command, args []string) error {
			c, err := load(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Printf("%s: ok: interface %s, %s\n", c.File, c.Interface.Name, count(len(c.Peers), "peer"))
			return err
		},
	}
}

// count is a number and its noun: "1 peer", "2 peers".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
