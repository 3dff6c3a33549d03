// Command srdtun-etcd makes the members of a fleet, which find each other through etcd, peers
// of an srdtun daemon: it writes the daemon's directory of drop-in peers. Who may be a member
// is the operator's word, not etcd's; package fleet says how.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
)

// version is set when the program is built.
var version = "unknown"

// Exit codes, as those of srdtun.
const (
	exitFailure = 1
	exitUsage   = 2
)

func main() { os.Exit(run(os.Args[1:])) }

// usageError is of a command line that is wrong.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run executes one command line. An error is one line on standard error.
func run(args []string) int {
	root := &cobra.Command{
		Use:   "srdtun-etcd",
		Short: "Members of a fleet, through etcd",
		Long: `srdtun-etcd keeps the directory of drop-in peers of an srdtun daemon as the
members of a fleet in etcd are, as far as the operator's policy admits them:
an allow list of public keys, or grants that the fleet's key has signed.`,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetVersionTemplate("srdtun-etcd {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(joinCommand(), membersCommand(), leaveCommand(), fleetkeyCommand(), signCommand())
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return 0
	}
	fmt.Fprintf(os.Stderr, "srdtun-etcd: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

// takes checks the number of arguments.
func takes(n int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("usage: %s", c.UseLine())
		}
		return nil
	}
}
