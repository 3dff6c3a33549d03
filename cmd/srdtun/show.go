package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

// The words with a meaning of their own in the arguments of show, as in wg show.
const (
	wordAll        = "all"
	wordInterfaces = "interfaces"
	wordDump       = "dump"
)

func showCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show [NAME|FILE|all|interfaces] [dump]",
		Short: "Show running interfaces, their peers and paths",
		Long: `Show running interfaces, their peers and paths.

Without a name all running interfaces are shown; "interfaces" lists their names.
"dump" prints the columns of wg show dump, separated by tabs. --json prints one
object for a name and an array without.`,
		Args:              takes(0, 2),
		ValidArgsFunction: completeShow,
		RunE:              func(_ *cobra.Command, args []string) error { return show(args, asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func completeShow(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 1 {
		return []string{wordDump}, cobra.ShellCompDirectiveNoFileComp
	}
	return completeRunning(c, args, typed)
}

func show(args []string, asJSON bool) error {
	which, dump := wordAll, false
	if len(args) > 0 {
		which = args[0]
	}
	if len(args) > 1 {
		if args[1] != wordDump || asJSON || which == wordInterfaces {
			return usagef("usage: srdtun show [NAME|FILE|all|interfaces] [dump]")
		}
		dump = true
	}
	list, err := statuses(which)
	if err != nil {
		return err
	}
	switch {
	case which == wordInterfaces:
		for _, st := range list {
			fmt.Println(st.Interface)
		}
		return nil
	case dump:
		return writeDump(os.Stdout, list, which == wordAll)
	case asJSON && which != wordAll:
		return writeJSON(os.Stdout, list[0])
	case asJSON:
		return writeJSON(os.Stdout, list)
	}
	return writeText(os.Stdout, list, isTerminal(os.Stdout) && os.Getenv("NO_COLOR") == "")
}

// statuses asks the daemon of one interface, or of all that run. The result is
// never empty.
func statuses(which string) ([]*control.Status, error) {
	if which != wordAll && which != wordInterfaces {
		name, err := interfaceName(which)
		if err != nil {
			return nil, err
		}
		st, err := status(name)
		if err != nil {
			return nil, err
		}
		return []*control.Status{st}, nil
	}
	names, err := rundir.Names()
	if err != nil {
		return nil, err
	}
	var list []*control.Status
	for _, name := range names {
		st, err := status(name)
		switch {
		case err == nil:
			list = append(list, st)
		case !errors.Is(err, control.ErrNotRunning):
			return nil, err
		}
	}
	if len(list) == 0 {
		return nil, &codedError{code: exitNotRunning, msg: "no interface is running"}
	}
	return list, nil
}

func status(name string) (*control.Status, error) {
	c, err := control.Dial(name)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Show()
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
