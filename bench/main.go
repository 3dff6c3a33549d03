// Command bench measures srdtun as it is shipped, in network namespaces that it makes
// and removes. It needs root and takes the machine for itself.
//
//	bench EXPERIMENT [flags]
package main

import (
	"fmt"
	"os"

	"github.com/srdtun/srdtun/bench/blackhole"
	"github.com/srdtun/srdtun/bench/regress"
	"github.com/srdtun/srdtun/e2e/fabric"
)

// experiments by name.
var experiments = []struct {
	name, says string
	run        func(args []string) error
}{
	{"regress", "two versions in turn: which figures became worse", regress.Main},
	{"blackhole", "how long an application stalls when a spine dies silently", blackhole.Main},
}

func main() {
	if len(os.Args) > 1 {
		for _, e := range experiments {
			if e.name == os.Args[1] {
				fabric.Command("bench "+e.name, "", func() error { return e.run(os.Args[2:]) })
				return
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: bench EXPERIMENT [flags]")
	for _, e := range experiments {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", e.name, e.says)
	}
	os.Exit(2)
}
