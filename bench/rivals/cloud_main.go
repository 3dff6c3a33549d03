package rivals

import (
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"strings"

	"github.com/srdtun/srdtun/e2e/fabric"
)

const cloudUsage = `usage: bench cloud [flags]                    rebuild a cloud's limits in namespaces (root), and measure all kinds
       bench cloud serve                      on one of two real instances
       bench cloud [flags] NAME=ADDRESS ...   on the other one: measure to each address of the first; give the
                                              address outside the tunnel the name tcp, that inside srdtun, and
                                              any other tunnel's its name; mptcp=ADDRESS uses MPTCP`

// Cloud runs the subcommand "bench cloud".
func Cloud(args []string) error {
	if len(args) == 1 && args[0] == "serve" {
		return listenAll()
	}
	o := options{matrix: cloudMatrix, cloud: true, picture: ".png"}
	f := flag.NewFlagSet("bench cloud", flag.ContinueOnError)
	f.Usage = func() {
		fmt.Fprintln(f.Output(), cloudUsage)
		f.PrintDefaults()
	}
	o.flags(f, "out/cloud")
	f.BoolVar(&o.police, "police", false, "drop at once what a 5-tuple sends above its limit, instead of queueing it for 10 ms")
	if err := f.Parse(args); err != nil {
		return err
	}
	if o.reps < 1 || o.secs < 1 {
		f.Usage()
		return errors.New("see the flags above")
	}
	if f.NArg() == 0 {
		fabric.Command("bench cloud", ". What was measured is in "+o.out+".jsonl; -from makes a table of it", o.run)
		return nil
	}
	var err error
	if o.matrix, err = parseInstances(f.Args()); err != nil {
		return err
	}
	o.real = true
	return o.run()
}

// parseInstances parses arguments of the form NAME=ADDRESS.
func parseInstances(args []string) (all []entry, err error) {
	seen := map[string]bool{}
	for _, arg := range args {
		name, text, found := strings.Cut(arg, "=")
		to, err := netip.ParseAddr(text)
		if !found || name == "" || err != nil {
			return nil, fmt.Errorf("%q: want NAME=ADDRESS, as in srdtun=10.80.0.2", arg)
		}
		if seen[name] {
			return nil, fmt.Errorf("%q: the name %s is there twice", arg, name)
		}
		seen[name] = true
		l := &link{to: to}
		if name == mptcp.name {
			l.wrap = []string{}
		}
		start := func(*bench, *site) (*link, error) { return l, nil }
		all = append(all, entry{instances, kind{name, name, start}, cloudRows})
	}
	return all, nil
}
