package main

import (
	"fmt"
	"time"
)

// runChecks runs the checks of a group, and prints a line for each.
func runChecks(g group, do func(check) (note string, err error)) (failed int) {
	for _, c := range g.checks {
		begun := time.Now()
		note, err := do(c)
		if err != nil {
			failed++
			fmt.Printf("FAIL %s: %s%s: %v\n", c.name, c.says, note, err)
			continue
		}
		fmt.Printf("ok   %s: %s%s (%.1fs)\n", c.name, c.says, note, time.Since(begun).Seconds())
	}
	fmt.Printf("%s: %d passed, %d failed\n", g.kind, len(g.checks)-failed, failed)
	return failed
}
