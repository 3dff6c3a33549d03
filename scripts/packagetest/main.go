// Command packagetest tests everything that users install: the source, the deb and rpm packages,
// and the image.
//
//	packagetest [-root DIR] [-only NAME,..] [KIND]...      from the top of the tree, as root
//
// The arguments choose the kinds source, deb, rpm and image, and without arguments all kinds are
// tested. The packages run in disposable copies of a minimal Debian 12 (root.go). With -only
// NAME, the command runs one check and the checks that it needs. With -list, the command prints
// the names of all checks (kinds.go).
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) == 4 {
		switch os.Args[1] {
		case insideArg:
			os.Exit(inside(os.Args[2], strings.Split(os.Args[3], ",")))
		case plantArg:
			fmt.Fprintf(os.Stderr, "packagetest: %v\n", plant(os.Args[2], os.Args[3]))
			os.Exit(1)
		}
	}
	root := flag.String("root", "", "use the Debian in this `folder`, and make it if it is not there; else a temporary one")
	only := flag.String("only", "", "`names` of checks, with commas between; without it all")
	list := flag.Bool("list", false, "print kinds and checks")
	flag.Parse()
	if *list {
		printKinds(os.Stdout)
		return
	}
	if err := outside(*root, *only, flag.Args()); err != nil {
		fmt.Fprintf(os.Stderr, "packagetest: %v\n", err)
		os.Exit(1)
	}
}

// outside runs the checks of the given kinds, each group in its environment.
func outside(root, only string, kinds []string) (err error) {
	groups, err := choose(kinds, only)
	if err != nil {
		return err
	}
	if os.Getuid() != 0 {
		return errors.New("a Debian root cannot be made: root is needed")
	}
	// An interrupted run also removes its files, because its child commands get the signal and
	// end.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGINT)
	work, err := os.MkdirTemp("/var/tmp", "srdtun-package.")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if root == "" {
		root = filepath.Join(work, "root")
	}
	w := &workshop{dir: work, root: root, share: filepath.Join(work, "share")}
	if err := os.Mkdir(w.share, 0o755); err != nil {
		return err
	}
	failed := 0
	for _, g := range groups {
		n, err := w.run(g)
		if err != nil {
			return fmt.Errorf("%s: %w", g.kind, err)
		}
		failed += n
	}
	if failed > 0 {
		return fmt.Errorf("%d failed", failed)
	}
	return nil
}

// workshop holds the folders and settings of a test run.
type workshop struct {
	dir, root, share string // share is mounted as shareDir in copies of the root
	packed, rooted   bool
	sysWritable      bool // needed for udev, which does not run with a read-only /sys
}

// run runs a group of checks, and returns the number of its failures.
func (w *workshop) run(g group) (failed int, err error) {
	if g.packages && !w.packed {
		if err := w.pack(); err != nil {
			return 0, err
		}
		w.packed = true
	}
	if g.place != here && !w.rooted {
		if err := bootstrap(w.root); err != nil {
			return 0, err
		}
		w.rooted = true
	}
	switch g.place {
	case bare:
		return w.enter(g)
	case booted, managed:
		return w.boot(g)
	}
	return runChecks(g, func(c check) (string, error) { return c.here(w) }), nil
}

// choose returns the groups of the kinds, with the checks in only and all checks that these need.
func choose(kinds []string, only string) (chosen []group, err error) {
	for _, k := range kinds {
		if !slices.ContainsFunc(groups, func(g group) bool { return g.kind == k }) {
			return nil, fmt.Errorf("no kind is called %q: want %s", k, strings.Join(allKinds(), ", "))
		}
	}
	names := strings.FieldsFunc(only, func(r rune) bool { return r == ',' })
	found := map[string]bool{}
	for _, g := range groups {
		if len(kinds) > 0 && !slices.Contains(kinds, g.kind) {
			continue
		}
		if g.checks = g.with(names, found); len(g.checks) > 0 {
			chosen = append(chosen, g)
		}
	}
	for _, n := range names {
		if !found[n] {
			return nil, fmt.Errorf("no check is called %q: -list prints all", n)
		}
	}
	return chosen, nil
}
