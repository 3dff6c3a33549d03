package main

import (
	"os"

	"github.com/spf13/cobra"
)

func completionCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "Write a completion script for a shell",
		Long:      "Write a completion script for a shell. For this session of bash:\n\n  source <(srdtun completion bash)",
		Args:      takes(1, 1),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(_ *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(os.Stdout, true)
			case "zsh":
				return root.GenZshCompletion(os.Stdout)
			case "fish":
				return root.GenFishCompletion(os.Stdout, true)
			}
			return usagef("shell %q is not known; bash, zsh and fish are", args[0])
		},
	}
}
