// Package blackhole measures how long an application receives nothing when a spine switch under its
// tunnel fails silently. The shipped daemon runs on the fabric of the end-to-end tests, and carries
// endless TCP flows. In each trial the spine with the most traffic drops all packets for a short
// time. The benchmark samples the goodput every 5 ms.
package blackhole

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// options holds the command line's flags.
type options struct {
	srdtun   string
	out      string
	trials   int
	flows    int
	dead     time.Duration
	permille int
	trace    bool
	ecn      bool
}

// deadFor is how long the failed spine drops all packets. It is ten times the allowed stall.
const deadFor = 500 * time.Millisecond

// Main runs the subcommand "bench blackhole". Main appends each trial to a file as soon as it ends,
// as a line of JSON.
func Main(args []string) error {
	var o options
	f := flag.NewFlagSet("bench blackhole", flag.ContinueOnError)
	f.StringVar(&o.srdtun, "bin", "bin/srdtun", "the srdtun to measure")
	f.StringVar(&o.out, "o", "", "add each trial to this `file`, as a line of JSON")
	f.IntVar(&o.trials, "trials", 100, "how `many` spines die, one after another")
	f.IntVar(&o.flows, "flows", 1, "TCP `flows` at once")
	f.DurationVar(&o.dead, "for", deadFor, "how `long` a spine is dead")
	f.IntVar(&o.permille, "permille", 0, "packets of a thousand that it drops at random; 0: all")
	f.BoolVar(&o.trace, "trace", false, "say what surrounds each segment that the first flow sent again, and what limited it")
	f.BoolVar(&o.ecn, "ecn", false, "flows speak ECN, as Linux does where net.ipv4.tcp_ecn is 1")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || o.trials < 1 || o.flows < 1 || o.dead < sample || o.permille < 0 {
		f.Usage()
		return errors.New("see the flags above")
	}
	fabric.Command("bench blackhole", "", func() error {
		all, err := o.run(os.Stdout)
		if err == nil {
			fmt.Println(summary(all))
		}
		return err
	})
	return nil
}

// Stalls runs one flow while one spine after another fails, and returns the stall of each trial in
// ms.
func Stalls(srdtun string, trials int) (ms []float64, err error) {
	all, err := options{srdtun: srdtun, trials: trials, flows: 1, dead: deadFor}.run(io.Discard)
	for _, t := range all {
		ms = append(ms, t.Stall)
	}
	return ms, err
}

// run builds the network, lets spines fail, and prints each trial.
func (o options) run(w io.Writer) (all []trial, err error) {
	f, err := fabric.New(fabric.Spec{})
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if o.ecn {
		for _, h := range []*fabric.Host{f.A(1), f.B(1)} {
			if _, err := h.Run("sysctl", "-qw", "net.ipv4.tcp_ecn=1"); err != nil {
				return all, err
			}
		}
	}
	pair, err := tunnel.NewPair(o.srdtun, f.A(1), f.B(1), tunnel.Config{}, false)
	if err != nil {
		return all, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	fl, err := start(f.A(1), f.B(1), tunnel.Inner4(2), o.flows)
	if err != nil {
		return all, err
	}
	defer fl.stop()
	// This wait before the first trial gives the flows time to leave slow start, and the daemon
	// time to measure the RTTs of its paths.
	if err := fl.run(heal); err != nil {
		return all, err
	}
	var tr *trace
	if o.trace {
		tr = watch(pair.A, pair.B, fl.conns[0])
		defer func() { err = errors.Join(err, tr.stop()) }()
	}
	for i := range o.trials {
		begun := time.Now()
		t, err := o.measure(f, pair.A, fl)
		if err != nil {
			return all, err
		}
		fmt.Fprintf(w, "%3d of %d: %v\n", i+1, o.trials, t)
		if tr != nil {
			tr.tell(w, begun, t.died, t.healed)
		}
		all = append(all, t)
		if err := o.write(t); err != nil {
			return all, err
		}
	}
	return all, nil
}

// write appends a trial to the file.
func (o options) write(t trial) error {
	if o.out == "" {
		return nil
	}
	f, err := os.OpenFile(o.out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return errors.Join(json.NewEncoder(f).Encode(t), f.Close())
}
