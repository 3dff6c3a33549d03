package main

import (
	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
)

func genpskCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "genpsk",
		Short: "Write a new preshared key to standard output",
		Args:  takes(0, 0),
		RunE:  func(*cobra.Command, []string) error { return printSecret(config.GeneratePreshared) },
	}
}
