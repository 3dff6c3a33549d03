// Package drills disturbs the shipped daemon under load in several ways, and checks that the cost
// of each disturbance is within a bound. The disturbances include kill -9, address changes, failed,
// corrupting and duplicating networks, missing file descriptors, and replayed packets. The command
// prints a table, and exits with code 1 if a bound was exceeded.
//
// The command needs root and an otherwise idle machine, and removes all its changes however it
// ends.
package drills

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/e2e/drill"
	"github.com/srdtun/srdtun/e2e/fabric"
)

// Main runs the subcommand "bench drills".
func Main(args []string) error {
	o := drill.Options{Log: os.Stdout}
	f := flag.NewFlagSet("bench drills", flag.ContinueOnError)
	f.StringVar(&o.Bin, "bin", "bin/srdtun", "the srdtun to hurt")
	f.BoolVar(&o.Short, "short", false, "seconds instead of minutes, where time makes no other case")
	only := f.String("only", "", "`names` of drills, with commas between; without it all")
	list := f.Bool("list", false, "say what there is")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *list {
		for _, d := range drill.All {
			fmt.Printf("%-12s %s\n", d.Name, d.Says)
		}
		return nil
	}
	drills := drill.All
	if *only != "" {
		var err error
		if drills, err = find(strings.Split(*only, ",")); err != nil {
			return err
		}
	}
	fabric.Command("bench drills", "", func() error { return all(o, drills) })
	return nil
}

func all(o drill.Options, drills []drill.Drill) error {
	var rows []drill.Row
	for _, d := range drills {
		fmt.Printf("%s: %s\n", d.Name, d.Says)
		rows = append(rows, d.Run(o)...)
	}
	if missed := table(os.Stdout, rows); missed > 0 {
		return fmt.Errorf("%d of %d bounds were missed", missed, len(rows))
	}
	return nil
}

// table prints the rows for people, and returns how many bounds were exceeded.
func table(w io.Writer, rows []drill.Row) (missed int) {
	fmt.Fprintf(w, "\n%-12s %-80s %15s %15s\n", "drill", "what", "bound", "measured")
	for _, r := range rows {
		verdict := ""
		if r.Missed {
			verdict = "  MISSED"
			missed++
		}
		fmt.Fprintf(w, "%-12s %-80s %15s %15s%s\n", r.Drill, r.What, r.Bound, r.Got, verdict)
	}
	return missed
}

// find returns the drills with the given names. For an unknown name find returns an error.
func find(names []string) (v []drill.Drill, err error) {
	for _, n := range names {
		i := slices.IndexFunc(drill.All, func(d drill.Drill) bool { return d.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("no drill is named %q", n)
		}
		v = append(v, drill.All[i])
	}
	return v, nil
}
