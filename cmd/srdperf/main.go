// Command srdperf measures messages between endpoints of package ep, as fi_pingpong and
// perftest do for their transports.
//
//	srdperf serve                       prints KEY@ADDR
//	srdperf pingpong KEY@ADDR           round trips
//	srdperf bandwidth KEY@ADDR          bytes per second; rate: messages per second
//	srdperf write KEY@ADDR              bytes per second to the server's memory; read: from it
//	srdperf tagged KEY@ADDR             tagged messages, to srdperf serve --tagged
//	srdperf incast KEY@ADDR             many endpoints send to one
//	srdperf many KEY@ADDR KEY@ADDR..    one endpoint sends to many
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"
)

const (
	exitFailure = 1
	exitUsage   = 2
)

// usageError is the error of an invalid command line.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code. run() prints an error as one
// line.
func run(ctx context.Context, args []string, out, fault io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(fault)
	err := root.ExecuteContext(ctx)
	var usage usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(fault, "srdperf: %v\n", err)
		return exitUsage
	}
	fmt.Fprintf(fault, "srdperf: %v\n", err)
	return exitFailure
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "srdperf",
		Short: "Measure messages between endpoints",
		Long: `srdperf measures messages between endpoints: round trips, bandwidth, message rate.

Start "srdperf serve" on one host. It prints a line KEY@ADDR, with several addresses if
the host has several. Give this line to another command on the other host. Anybody who
knows the line may measure; others get no answer.

A latency is the time until the peer has accepted the message into a posted receive. For
pingpong it is the time until the echo arrives, and for read until the bytes arrive. Ctrl-C
ends a run and prints the results.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("unknown command %q; srdperf --help lists them", args[0])
			}
			return nil
		},
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(serveCommand(), pingpongCommand(), bandwidthCommand(), rateCommand(), writeCommand(), readCommand(), taggedCommand(), incastCommand(), manyCommand())
	return root
}

// takes checks that the number of arguments is from `least` to `most`.
func takes(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return usagef("usage: %s", c.UseLine())
		}
		return nil
	}
}
