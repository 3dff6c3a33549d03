// Command accept judges the transport in virtual time. It checks each figure of the
// acceptance list that needs no kernel against its goal. It plays the transport between
// daemons, with several seeds, and uses the median. The same code gives the same figures.
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

// gcPercent is the allowed growth of the heap between garbage collections. A run's memory is
// soon garbage.
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
