package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/srdtun/srdtun/internal/logline"

	"github.com/srdtun/srdtun/config"
)

// run executes one command line, and returns the exit code. run() prints an error as one line on
// standard error.
func run(args []string) int {
	setVersion()
	root := newRoot()
	root.SetArgs(args)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	var told *toldError
	if !errors.As(err, &told) {
		fmt.Fprintf(os.Stderr, "%ssrdtun: %s\n", logline.ErrorPrefix(), withoutTyped(err, args))
	}
	return exitCode(err)
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "srdtun",
		Short: "A tunnel over many network paths at once",
		Long: `srdtun carries IP packets between hosts over many UDP paths at once, repairs
losses on another path, and restores the order of each connection.

A NAME stands for ` + defaultConfigDir + `/NAME.toml. An argument with a slash, or one that ends in .toml, is a file.

Exit codes: 0 ok, 1 failure, 2 usage, 3 not running, 4 degraded (show --check),
77 permission, 78 bad configuration.`,
		Version:           version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              knownCommand,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.SetOut(os.Stdout)
	root.SetErr(os.Stderr)
	root.SetVersionTemplate("srdtun {{.Version}}\n")
	root.SetFlagErrorFunc(flagError)
	root.AddCommand(
		genkeyCommand(), pubkeyCommand(), genpskCommand(), initCommand(), checkCommand(),
		upCommand(), downCommand(), showCommand(), setCommand(), reloadCommand(), startingCommand(), restartingCommand(), hooksCommand(), eventsCommand(),
		showconfCommand(), syncconfCommand(), addconfCommand(), waitCommand(), importCommand(), exportCommand(),
		flowsCommand(), pingCommand(), topCommand(),
		doctorCommand(), netcheckCommand(), bugreportCommand(), versionCommand(), completionCommand(root), manCommand(root),
	)
	root.SetHelpCommand(helpCommand(root))
	return root
}

// knownCommand returns an error for an unknown command. The error suggests the most similar
// commands.
func knownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	root.SuggestionsMinimumDistance = 2
	near := slices.DeleteFunc(root.SuggestionsFor(args[0]), func(name string) bool {
		// Two edits turn any short word into any other short word. So for a short word, such as
		// "ls", there is no suggestion such as "up".
		short := len(name) <= root.SuggestionsMinimumDistance || len(args[0]) <= root.SuggestionsMinimumDistance+1
		return short && !strings.HasPrefix(args[0], name[:1]) && !sameLetters(args[0], name)
	})
	if len(near) > 0 {
		return usagef("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
	}
	return usagef("unknown command %q; srdtun --help lists them", args[0])
}

// sameLetters reports whether two words differ only in the order of their letters.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

// flagError describes a faulty flag, and suggests a similar flag.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		text, _, _ := strings.Cut(err.Error(), ": strconv.") // the rest is the text of an error of Go's library
		return &usageError{errors.New(text)}
	}
	if letters := unknown.GetSpecifiedShortnames(); letters != "" {
		return usagef("unknown flag: -%s; %s --help lists them", letters, c.CommandPath())
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near, ok := config.Near(unknown.GetSpecifiedName(), names); ok {
		return usagef("unknown flag: --%s; did you mean --%s?", unknown.GetSpecifiedName(), near)
	}
	return usagef("unknown flag: --%s; %s --help lists them", unknown.GetSpecifiedName(), c.CommandPath())
}

// takes checks that the number of arguments is from lo to hi, and that no flag has an empty text. A
// shell passes an empty text for a variable that is not set.
func takes(lo, hi int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if hi == 0 && len(args) > 0 {
			return usagef("%s takes no argument", c.CommandPath())
		}
		if len(args) < lo || len(args) > hi {
			return usagef("usage: %s", c.UseLine())
		}
		var err error
		c.Flags().Visit(func(f *pflag.Flag) {
			if f.Value.Type() == "string" && f.Value.String() == "" {
				err = usagef("--%s has an empty value", f.Name)
			}
		})
		return err
	}
}
