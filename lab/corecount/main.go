// Command corecount counts the transport's core for docs/core.md, and prints its goals. It
// counts state, deciding constants, lines, and how often a file uses files above it.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// row is one line of the table. A goal of 0 means no goal.
type row struct {
	what        string
	count, goal int
	items       []string // what was counted, for -v
}

func main() {
	verbose := flag.Bool("v", false, "list what was counted")
	root := flag.String("root", ".", "top of the tree")
	flag.Parse()
	rows, err := count(*root)
	if err != nil {
		fmt.Fprintln(os.Stderr, "corecount:", err)
		os.Exit(2)
	}
	fmt.Printf("| %-36s | is    | goal |\n| --- | --- | --- |\n", "")
	for _, r := range rows {
		goal := ""
		if r.goal > 0 {
			goal = fmt.Sprint(r.goal)
		}
		fmt.Printf("| %-36s | %5d | %4s |\n", r.what, r.count, goal)
	}
	for _, r := range rows {
		if *verbose && r.items != nil {
			fmt.Printf("\n%s:\n    %s\n", r.what, strings.Join(r.items, "\n    "))
		}
	}
}

// count counts the tree at root.
func count(root string) ([]row, error) {
	t, err := load(root, "srd", "srd/cc", "srd/steer", "srd/internal/rtt", "srd/internal/pace")
	if err != nil {
		return nil, err
	}
	srd := t.packages["srd"]
	constants, literals := row{"constants that decide", 0, 60, nil}, row{"numbers in functions, but 0, 1, 2", 0, 0, nil}
	lines, code := row{"lines of recovery, choice and cc", 0, 1900, nil}, row{"... with code", 0, 0, nil}
	for dir, p := range t.packages {
		for file, f := range p.files {
			if !decides(dir, file) {
				continue
			}
			text, err := os.ReadFile(filepath.Join(root, file))
			if err != nil {
				return nil, err
			}
			names, n := numbersOf(p, f)
			all, coded := 0, 0
			for line := range bytes.Lines(text) {
				all++
				if line = bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
					coded++
				}
			}
			constants.add(len(names), file, strings.Join(names, " "))
			literals.add(n, file, n)
			lines.add(all, file, all)
			code.add(coded, file, coded)
		}
	}
	arrows := arrowsOf(t, srd)
	order := layersOf(arrows)
	up := row{"... that run up", 0, 15, nil}
	for _, a := range upOf(arrows, order) {
		up.add(1, a.from+" -> "+a.to, strings.Join(arrows[a], " "))
	}
	stays := follow(t, srd, "Conn", "Next", "now")
	return []row{
		listed("methods on Conn", 50, methodsOf(srd, "Conn")),
		listed("leaf state of Conn with its machines", 110, leavesOf(t, srd, "Conn")),
		listed("leaf state of a path", 35, leavesOf(t, srd, "path")),
		listed("leaf state of cc.SRD", 20, leavesOf(t, t.packages["srd/cc"], "SRD")),
		constants, literals, lines, code,
		{"arrows between files of srd", len(arrows), 0, order}, up,
		{"stays of now on its way through Next", len(stays), 0, stays}, {"... in a file that it has left", returnsOf(stays), 12, nil},
	}, nil
}

// add adds n to a count.
func (r *row) add(n int, what string, which any) {
	if r.count += n; n > 0 {
		r.items = append(r.items, fmt.Sprintf("%s: %v", what, which))
		slices.Sort(r.items)
	}
}

// listed is a row that counts the items of a list.
func listed(what string, goal int, items []string) row { return row{what, len(items), goal, items} }
