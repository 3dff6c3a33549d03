package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/lab"
)

// sweepOptions holds the options of the subcommand "sweep".
type sweepOptions struct {
	out      io.Writer
	progress *bar
	only     string
	hosts    []string
	seeds    string
	short    bool
	known    bool
}

// sweepCommand returns the subcommand that runs the sweep over many kinds of networks.
func sweepCommand() *cobra.Command {
	var o sweepOptions
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Play the same flows over networks of all kinds, beside TCP; name those where they are slower",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.out, o.progress = c.OutOrStdout(), newBar(c.ErrOrStderr())
			return sweep(&o)
		},
	}
	c.Flags().StringVar(&o.only, "point", "", "play only points whose name contains this `text`")
	c.Flags().StringSliceVar(&o.hosts, "host", []string{"daemon"}, "on these `hosts`")
	c.Flags().StringVar(&o.seeds, "seeds", "1..5", "the seeds `A..B`")
	c.Flags().BoolVar(&o.short, "short", false, "play only the points that go test plays")
	c.Flags().BoolVar(&o.known, "known", false, "print the misses as lines of lab/sweep_known.go")
	return c
}

func sweep(o *sweepOptions) error {
	from, to, err := parseRange(o.seeds)
	if err != nil {
		return err
	}
	var seeds []uint64
	for n := from; n <= to; n++ {
		seeds = append(seeds, n)
	}
	var hosts []*lab.HostModel
	for _, name := range o.hosts {
		h, err := lab.HostNamed(name)
		if err != nil {
			return err
		}
		hosts = append(hosts, h)
	}
	w := tabwriter.NewWriter(o.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	if !o.known {
		fmt.Fprintln(w, "point\thost\tmean us\tmax\tdrops\topen\tTCP mean\tmax\tmean/TCP\tmax\tcliff\tverdict\t")
	}
	worse, done := false, 0
	points := slices.DeleteFunc(lab.SweepPoints(), func(x lab.Point) bool {
		return !strings.Contains(x.Name, o.only) || o.short && !x.Short
	})
	err = lab.Sweep(points, hosts, seeds, func(x *lab.Point, results []lab.SweepResult) {
		if done++; done < len(points) {
			o.progress.show(points[done].Name, float64(done)/float64(len(points)))
		}
		if o.known {
			writeKnown(w, x, results)
			return
		}
		for i := range results {
			worse = worse || results[i].Worse() != ""
			writePoint(w, x, &results[i])
		}
	})
	o.progress.clear()
	if err := errors.Join(err, w.Flush()); err != nil {
		return err
	}
	if worse {
		return errFailed
	}
	return nil
}

func writePoint(w io.Writer, x *lab.Point, r *lab.SweepResult) {
	verdict := "met"
	switch text := r.Worse(); {
	case text != "":
		verdict = "missed: " + strings.TrimSuffix(text, "; ")
	case r.Missed():
		verdict = "known"
	}
	fmt.Fprintf(w, "%s\t%s\t%.0f\t%.0f\t%d\t%d\t%.0f\t%.0f\t%.2f\t%.2f\t%.2f\t%s\t\n", x.Name, r.Host,
		r.SRD.Mean, r.SRD.Max, r.SRD.Drops, r.Open[0], r.TCP.Mean, r.TCP.Max, r.Ratio.Mean, r.Ratio.Max, r.Ratio.Cliff, verdict)
}

// writeKnown prints an entry for the table of known misses.
func writeKnown(w io.Writer, x *lab.Point, results []lab.SweepResult) {
	var v []string
	for i := range results {
		if r := &results[i]; r.Missed() {
			v = append(v, fmt.Sprintf("%q: {%.2f, %.2f, %.2f}", r.Host, r.Ratio.Mean, r.Ratio.Max, r.Ratio.Cliff))
		}
	}
	if len(v) > 0 {
		fmt.Fprintf(w, "\t%q: {%s},\n", x.Name, strings.Join(v, ", "))
	}
}
