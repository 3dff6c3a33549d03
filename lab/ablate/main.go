// Command ablate measures the benefit of each rule of the transport, and keeps a ledger of it. It
// copies the tree, and in the copy it disables one rule after the other by a small edit. Then it
// plays plans with the same seeds with and without the rule, and writes docs/rules.md. The document
// has the equation, constants, source and gain of each rule.
//
//	ablate [-go GO] [-seeds N] [-only REGEXP] [-bench REGEXP] [-quick] [-tests] [-all] [-together] [-list] [-out DIR] [-doc FILE]
//
// A single bench is enough to keep a rule. The rule's other benches are then skipped, unless -all
// is given. The swarm's seeds, and the tests of user-visible behaviour, are played if the quick
// benches do not justify a rule. Rules without a benefit may replace each other, so -together
// disables all chosen rules at once.
//
// Results are kept in a folder of -out for each version of srd/ and sim/. So the work can be done
// in parts: -only chooses rules. Uncommitted code has no version of its own, so remove its results
// folder when it changes. The document states the version of each rule's results. A rule without
// results on this version keeps its row. With -tests, tests are played first; this is for rules
// that a test is known to need.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"github.com/srdtun/srdtun/scripts/field"
)

// options are the options of the command line.
type options struct {
	goCmd, only, bench, out, doc string
	seeds                        int
	quick, tests, list           bool
	all, together                bool
}

func main() {
	var o options
	flag.StringVar(&o.goCmd, "go", "go", "the go `command`")
	flag.IntVar(&o.seeds, "seeds", 20, "seeds 1 to `N` are played")
	flag.StringVar(&o.only, "only", "", "switch only rules off whose name matches a `regexp`")
	flag.StringVar(&o.bench, "bench", "", "play only benches that match a `regexp`, as in \"rules, incast, daemon\"")
	flag.StringVar(&o.out, "out", "out/ablate", "the `folder` for what was played")
	flag.StringVar(&o.doc, "doc", "docs/rules.md", "the document to write")
	flag.BoolVar(&o.quick, "quick", false, "play only the quick benches, the seeds and the tests")
	flag.BoolVar(&o.tests, "tests", false, "play the tests and the seeds before the benches")
	flag.BoolVar(&o.all, "all", false, "go on with a rule that a bench has shown to be worth keeping")
	flag.BoolVar(&o.together, "together", false, "switch all chosen rules off at once, and print what that changes")
	flag.BoolVar(&o.list, "list", false, "print the rules and end")
	flag.Parse()
	if err := run(&o); err != nil {
		fmt.Fprintln(os.Stderr, "ablate:", err)
		os.Exit(1)
	}
}

func run(o *options) error {
	match, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	if o.seeds < 2 {
		return errors.New("a spread takes two seeds at least")
	}
	var chosen []rule
	for _, r := range rules {
		if !match.MatchString(r.name) {
			continue
		}
		if err := field.Check(".", r.off); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		chosen = append(chosen, r)
	}
	if len(chosen) == 0 {
		return errors.New("no such rule")
	}
	if o.list {
		for _, r := range chosen {
			fmt.Printf("%-32s %s\n", r.name, r.equation)
		}
		return nil
	}
	now, err := version()
	if err != nil {
		return err
	}
	o.out = filepath.Join(o.out, now)
	if o.together {
		all := together(chosen)
		if err := play(o, []rule{all}); err != nil {
			return err
		}
		printChanges(o, all.name)
		return nil
	}
	if err := play(o, chosen); err != nil {
		return err
	}
	return writeDoc(o, now)
}

// together returns a rule that joins all rules in v. Its name depends on the joined rules, so that
// results of different sets have different files.
func together(v []rule) rule {
	var all rule
	h := fnv.New32a()
	for _, r := range v {
		all.off = append(all.off, r.off...)
		h.Write([]byte(r.name))
	}
	all.name = fmt.Sprintf("%d together, %08x", len(v), h.Sum32())
	return all
}

// play plays all missing results: first with all rules, then without each rule.
func play(o *options, chosen []rule) error {
	f, err := field.New(o.goCmd, "ablate")
	if err != nil {
		return err
	}
	defer f.Remove()
	// An interrupt also ends the running command, and removes the copy.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	match, err := regexp.Compile(o.bench)
	if err != nil {
		return err
	}
	v := benches
	if o.quick {
		v = v[:quickBenches]
	}
	for i, r := range append([]rule{{name: whole}}, chosen...) {
		fmt.Printf("%d of %d: %s\n", i, len(chosen), r.name)
		if err := playRule(ctx, f, o, &r, v, match); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// whole is the name for the transport with all of its rules.
const whole = "nothing off"
