package main

import "github.com/spf13/cobra"

// helpCommand returns the command that prints the same text as --help, for the program or for one
// command.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print how to use srdtun, or one of its commands",
		Args:  takes(0, 1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, c := range root.Commands() {
				if len(args) == 0 && c.IsAvailableCommand() {
					names = append(names, c.Name())
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			c, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if err := knownCommand(root, rest); err != nil {
				return err
			}
			c.InitDefaultHelpFlag()
			c.InitDefaultVersionFlag()
			return c.Help()
		},
	}
}
