// Package rivals compares srdtun with wireguard-go, its fork by Tailscale, nebula, kernel MPTCP and
// plain TCP. The compared networks are namespaces on one machine. The command writes a table, a
// picture and every single value.
//
// The tunnels are measured alternately within one run, so that changes of the machine affect all
// tunnels alike. The command needs root, and removes all its changes however it ends. "make bench"
// installs and builds the compared programs.
package rivals

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// options holds the command line's flags.
type options struct {
	srdtun, plot, tools string
	srdperf             string // the binary for "bench messages"
	nebulaSource        string
	out                 string // prefix of the names of the output files
	from                string
	only                string
	reps, secs          int
	matrix              []entry
	picture             string // suffix of the picture's name
	cloud, real, police bool   // flags of "bench cloud"
}

// flags registers the flags that all comparisons share.
func (o *options) flags(f *flag.FlagSet, out string) {
	f.StringVar(&o.srdtun, "bin", "bin/srdtun", "the srdtun to measure")
	f.StringVar(&o.plot, "plot", "bin/srdplot", "the srdplot to draw with")
	f.StringVar(&o.tools, "tools", "out/bench-tools", "the `folder` for the programs that are built to compare with")
	f.StringVar(&o.nebulaSource, "nebula-source", "", "build nebula from this `folder` of its source, not from its newest release")
	f.StringVar(&o.out, "o", out, "write `NAME`.md, NAME"+o.picture+" and NAME.jsonl")
	f.StringVar(&o.from, "from", "", "measure nothing; write table and picture of the values in this `file`")
	f.StringVar(&o.only, "only", "", "measure only these networks, kinds or rows: a `list` divided by commas of\n"+strings.Join(names(o.matrix), " "))
	f.IntVar(&o.reps, "reps", 5, "`rounds`; each visits everything once")
	f.IntVar(&o.secs, "secs", 5, "`seconds` of each measurement")
}

// Main runs the subcommand "bench rivals".
func Main(args []string) error {
	o := options{matrix: matrix, picture: ".png"}
	f := flag.NewFlagSet("bench rivals", flag.ContinueOnError)
	o.flags(f, "out/bench")
	strain := f.Bool("strain", false, "measure completion times on a fabric under strain instead; -only knows\n"+strings.Join(names(strainMatrix), " "))
	if err := f.Parse(args); err != nil {
		return err
	}
	if *strain {
		o.matrix = strainMatrix
	}
	if f.NArg() > 0 || o.reps < 1 || o.secs < 1 {
		f.Usage()
		return errors.New("see the flags above")
	}
	fabric.Command("bench rivals", ". What was measured is in "+o.out+".jsonl; -from makes a table of it", o.run)
	return nil
}

func (o options) run() error {
	if o.from != "" {
		f, err := os.Open(o.from)
		if err != nil {
			return err
		}
		defer f.Close()
		a, all, err := readRecords(f)
		if err != nil {
			return err
		}
		return o.write(a, gather(all))
	}
	entries, err := choose(o.matrix, o.only)
	if err != nil {
		return err
	}
	b, a, entries, err := o.prepare(entries)
	if err != nil {
		return err
	}
	defer b.out.file.Close()
	visits := schedule(entries, o.reps)
	b.screen = newProgress(os.Stdout, visits, o.reps, o.secs)
	fmt.Printf("%d rounds of %d things to visit, about %v\n", o.reps, len(entries), b.screen.left().Round(time.Minute))
	for _, v := range visits {
		if err := b.visit(v); err != nil {
			return fmt.Errorf("%s, %s: %w", v.net.name, v.kind.name, err)
		}
	}
	r := gather(b.out.all)
	if err := o.write(a, r); err != nil {
		return err
	}
	if n := len(r.failures); n > 0 {
		return fmt.Errorf("%d measurements failed", n)
	}
	return nil
}

// prepare builds the compared programs and opens the output file. It leaves out tunnels whose
// programs cannot be built, and prints their names.
func (o options) prepare(entries []entry) (b *bench, a about, able []entry, err error) {
	if os.Geteuid() != 0 && !o.real {
		return nil, a, nil, errors.New("namespaces can be made by root only")
	}
	var kinds []string
	for _, e := range entries {
		kinds = append(kinds, e.kind.name)
	}
	t := &tools{missing: map[string]error{}}
	scratch := ""
	if !o.real {
		if t, err = install(o.tools, o.nebulaSource, kinds); err != nil {
			return nil, a, nil, err
		}
		if scratch, err = fabric.Scratch(); err != nil {
			return nil, a, nil, err
		}
	}
	if able = t.able(entries); len(able) == 0 {
		return nil, a, nil, errors.New("nothing is left to measure")
	}
	a = about{time.Now().UTC().Format("2006-01-02 15:04 UTC"), machine(), kernel(), t.versions(o.srdtun, kinds), o.reps, o.secs, o.cloud, o.police}
	out, err := newRecorder(o.out+".jsonl", a)
	if err != nil {
		return nil, a, nil, err
	}
	return &bench{srdtun: o.srdtun, srdperf: o.srdperf, tools: t, scratch: scratch, seconds: o.secs, out: out, police: o.police, checked: map[string]bool{}}, a, able, nil
}

// write writes the table and the picture, and prints the table.
func (o options) write(a about, r results) error {
	text := report(a, r)
	fmt.Printf("\n%s\n", text)
	if err := os.WriteFile(o.out+".md", []byte(text), 0o644); err != nil {
		return err
	}
	drawn, err := draw(o.plot, o.out+o.picture, a, r)
	if err != nil {
		return err
	}
	fmt.Printf("table %s.md, values %s.jsonl", o.out, o.out)
	if drawn {
		fmt.Printf(", picture %s%s", o.out, o.picture)
	}
	fmt.Println()
	return nil
}
