// Command mutate asks whether the simulator's swarm would notice a bug. It copies
// the tree, plants one small bug after the other in the copy, plays seeds until one
// fails, and prints a table of what was caught, at which seed and how. It fails if
// a bug survives all seeds.
//
//	mutate [-go GO] [-seeds N] [-only REGEXP] [-list]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"syscall"
	"time"
)

func main() {
	goCmd := flag.String("go", "go", "the go `command`")
	seeds := flag.Int("seeds", 1000, "seeds 1 to `N` are played")
	only := flag.String("only", "", "plant only bugs whose name or file matches a `regexp`")
	list := flag.Bool("list", false, "print the bugs and end")
	flag.Parse()
	chosen, err := choose(*only)
	if err == nil && *list {
		for _, b := range chosen {
			fmt.Printf("%-28s %s\n", b.file, b.name)
		}
		return
	}
	if err == nil {
		err = run(*goCmd, *seeds, chosen)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

func choose(only string) (chosen []bug, err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return nil, err
	}
	for _, b := range bugs {
		if match.MatchString(b.name) || match.MatchString(b.file) {
			chosen = append(chosen, b)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("no such bug")
	}
	return chosen, nil
}

func run(goCmd string, seeds int, chosen []bug) error {
	f, err := newField(goCmd, seeds)
	if err != nil {
		return err
	}
	defer f.remove()
	// The copy is removed also when somebody loses patience.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		f.remove()
		os.Exit(1)
	}()
	for _, b := range chosen {
		if _, _, err := f.edit(b); err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
	}
	// A swarm that fails anyway would catch everything.
	begin := time.Now()
	if v, err := f.play(); err != nil || v.caught {
		return fmt.Errorf("without any bug: %v %s", err, v.how)
	}
	fmt.Printf("without any bug: %d seeds in %.0f s\n\n%-54s %6s  %s\n", seeds, time.Since(begin).Seconds(), "bug", "seed", "caught by")
	survivors := 0
	for _, b := range chosen {
		v, err := f.plant(b)
		if err != nil {
			return fmt.Errorf("%s: %w", b.name, err)
		}
		if !v.caught {
			survivors++
			v.seed, v.how = "-", "SURVIVES"
		}
		fmt.Printf("%-54s %6s  %s\n", b.name, v.seed, v.how)
	}
	fmt.Printf("\n%d of %d bugs caught within %d seeds, %.0f s\n", len(chosen)-survivors, len(chosen), seeds, time.Since(begin).Seconds())
	if survivors > 0 {
		return fmt.Errorf("%d bugs survive", survivors)
	}
	return nil
}
