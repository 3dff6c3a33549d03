// Command mutate tests whether the simulator would detect a bug in the code. The command copies the
// source tree, and plants one small bug after another in the copy. For each bug, the command
// simulates seeds until one fails. A table shows each bug, the seed that caught it, and the
// failure. If all seeds miss a bug, the command runs the tests of the transport, and of tunnels
// that share a link with plain TCP. The command fails if a bug escapes both the seeds and the
// tests.
//
//	mutate [-go GO] [-seeds N] [-only REGEXP] [-from N] [-to N] [-trust] [-list]
//
// A whole run takes 15 minutes. To run the command in parts, choose bugs by their numbers (-from,
// -to), and skip the run without a bug (-trust).
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"

	tree "github.com/srdtun/srdtun/scripts/field"
)

func main() {
	goCmd := flag.String("go", "go", "the go `command`")
	seeds := flag.Int("seeds", 1000, "seeds 1 to `N` are played")
	only := flag.String("only", "", "plant only bugs whose name or file matches a `regexp`")
	from := flag.Int("from", 1, "plant only bugs from the `N`th on")
	to := flag.Int("to", len(bugs), "and up to the `N`th")
	trust := flag.Bool("trust", false, "don't play the seeds without any bug first")
	list := flag.Bool("list", false, "print the bugs and end")
	flag.Parse()
	chosen, err := choose(*only, *from, *to)
	if err == nil && *list {
		for _, b := range chosen {
			fmt.Printf("%3d %-28s %s\n", b.number, b.file, b.name)
		}
		return
	}
	if err == nil {
		err = run(*goCmd, *seeds, chosen, *trust)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// numbered is a bug with its number in the list, counted from 1.
type numbered struct {
	bug
	number int
}

// choose returns the bugs with numbers between from and to whose names match only.
func choose(only string, from, to int) (chosen []numbered, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	for i, b := range bugs {
		n := i + 1
		if n >= from && n <= to && (match.MatchString(b.name) || match.MatchString(b.file)) {
			chosen = append(chosen, numbered{b, n})
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no such bug")
	}
	return chosen, nil
}

func run(goCmd string, seeds int, chosen []numbered, trust bool) error {
	f, err := newField(goCmd, seeds)
	if err != nil {
		return err
	}
	defer f.Remove()
	// An interrupted run also removes its copy.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		f.Remove()
		os.Exit(1)
	}()
	for _, b := range chosen {
		if err := tree.Check(f.Dir, []tree.Edit{b.edit()}); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	begin := time.Now()
	if !trust {
		// If a seed failed without a bug, the simulator would seem to catch every bug.
		if v, err := f.play(); err != nil || v.how != "" {
			return fmt.Errorf("without any bug: %v %s", err, v.how)
		}
		fmt.Printf("without any bug: %d seeds in %.0f s\n\n", seeds, time.Since(begin).Seconds())
	}
	fmt.Printf("%3s %-54s %6s  %s\n", "", "bug", "seed", "caught by")
	seen, survivors := 0, 0
	for _, b := range chosen {
		v, err := f.plant(b.bug)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		switch {
		case !v.caught:
			survivors++
			v.seed, v.how = "-", cmp.Or(v.how, "SURVIVES")
		case v.seed != byTest:
			seen++
		}
		fmt.Printf("%3d %-54s %6s  %s\n", b.number, b.name, v.seed, v.how)
	}
	fmt.Printf("\nof %d bugs %d caught within %d seeds, %d more by tests; %.0f s\n", len(chosen), seen, seeds, len(chosen)-survivors-seen, time.Since(begin).Seconds())
	if survivors > 0 {
		return fmt.Errorf("%d bugs survive", survivors)
	}
	return nil
}
