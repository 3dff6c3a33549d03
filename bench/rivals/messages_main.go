package rivals

import (
	"errors"
	"flag"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// Messages runs the subcommand "bench messages".
func Messages(args []string) error {
	if len(args) == 2 && args[0] == "echo" {
		return echoAll(args[1])
	}
	o := options{matrix: messageMatrix, picture: ".png"}
	f := flag.NewFlagSet("bench messages", flag.ContinueOnError)
	o.flags(f, "out/messages")
	f.StringVar(&o.srdperf, "perf", "bin/srdperf", "the srdperf to measure")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || o.reps < 1 || o.secs < 1 {
		f.Usage()
		return errors.New("see the flags above")
	}
	fabric.Command("bench messages", ". What was measured is in "+o.out+".jsonl; -from makes a table of it", o.run)
	return nil
}
