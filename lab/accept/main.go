// Command accept runs the acceptance tests of the transport in virtual time. The command measures
// each metric of the acceptance list for which no kernel is needed, and compares it with its goal.
// Each scene simulates daemons, runs with several seeds, and reports the median. Two runs of the
// same code give the same results.
//
//	main.go     the command       scene.go    scenes, figures and goals
//	play.go     one experiment    jobs.go     all of them, on all processors
//	wan.go, beside.go, line.go, load.go, crowd.go   the scenes
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// gcPercent is the growth of the heap, in percent, between two garbage collections. It is large to
// save time, because most memory of a run soon becomes garbage.
const gcPercent = 400

func main() {
	o := options{out: os.Stdout}
	flag.StringVar(&o.only, "only", "", "play the scenes or figures whose names contain one of these texts, with commas between")
	flag.IntVar(&o.seeds, "seeds", 3, "seeds of each scene: 1 to so many")
	flag.IntVar(&o.jobs, "jobs", runtime.NumCPU(), "runs at once")
	flag.StringVar(&o.json, "o", "", "a file for one line of JSON for each figure")
	flag.StringVar(&o.host, "host", "daemon", "the kind of hosts: daemon, or daemon-busy beside two busy processes")
	flag.StringVar(&o.plans, "plans", "lab/plans", "the folder of the plans that scenes take cases from")
	flag.Parse()
	if flag.NArg() > 0 || o.seeds < 1 || o.jobs < 1 {
		flag.Usage()
		os.Exit(2)
	}
	debug.SetGCPercent(gcPercent)
	missed, err := run(&o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "accept:", err)
		os.Exit(2)
	}
	if missed > 0 {
		os.Exit(1)
	}
}
