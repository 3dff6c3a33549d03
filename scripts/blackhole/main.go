// Command blackhole measures how long an application gets nothing when a spine under
// its tunnel dies silently: the shipped daemon on the fabric of the end-to-end tests,
// TCP flows that never end, and one spine after another that drops everything for a
// moment, always the one that just carried most. Goodput is sampled every 5 ms.
//
// It needs root, takes the machine for itself, and removes all that it made however it
// ends. A trial is written as a line of JSON as soon as it is over.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// options are those of the command line.
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

// deadFor is ten times the stall that is allowed.
const deadFor = 500 * time.Millisecond

func main() {
	var o options
	flag.StringVar(&o.srdtun, "bin", "bin/srdtun", "the srdtun to measure")
	flag.StringVar(&o.out, "o", "", "add each trial to this `file`, as a line of JSON")
	flag.IntVar(&o.trials, "trials", 100, "how `many` spines die, one after another")
	flag.IntVar(&o.flows, "flows", 1, "TCP `flows` at once")
	flag.DurationVar(&o.dead, "for", deadFor, "how `long` a spine is dead")
	flag.IntVar(&o.permille, "permille", 0, "packets of a thousand that it drops at random; 0: all")
	flag.BoolVar(&o.trace, "trace", false, "say what surrounds each segment that the first flow sent again, and what limited it")
	flag.BoolVar(&o.ecn, "ecn", false, "flows speak ECN, as Linux does where net.ipv4.tcp_ecn is 1")
	flag.Parse()
	if flag.NArg() > 0 || o.trials < 1 || o.flows < 1 || o.dead < sample || o.permille < 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := fabric.Guard(); err != nil {
		fail(err)
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- o.run() }()
	select {
	case err := <-done:
		if err != nil {
			fail(err)
		}
	case <-ctx.Done():
		// The guard sees the end of this process and removes the network.
		fmt.Println("\ninterrupted; the network is being removed")
		os.Exit(130)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "blackhole:", err)
	os.Exit(1)
}

// run builds the network, lets the spines die, and prints what came of it.
func (o options) run() (err error) {
	f, err := fabric.New(fabric.Spec{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if o.ecn {
		for _, h := range []*fabric.Host{f.A(1), f.B(1)} {
			if _, err := h.Run("sysctl", "-qw", "net.ipv4.tcp_ecn=1"); err != nil {
				return err
			}
		}
	}
	pair, err := tunnel.NewPair(o.srdtun, f.A(1), f.B(1), tunnel.Config{}, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	fl, err := start(f.A(1), f.B(1), tunnel.Inner4(2), o.flows)
	if err != nil {
		return err
	}
	defer fl.stop()
	// Before the first trial flows leave slow start, and paths are measured.
	if err := fl.run(heal); err != nil {
		return err
	}
	var tr *trace
	if o.trace {
		tr = watch(pair.A, pair.B, fl.conns[0])
		defer func() { err = errors.Join(err, tr.stop()) }()
	}
	var all []trial
	for i := range o.trials {
		begun := time.Now()
		t, err := o.measure(f, pair.A, fl)
		if err != nil {
			return err
		}
		fmt.Printf("%3d of %d: %v\n", i+1, o.trials, t)
		if tr != nil {
			tr.tell(os.Stdout, begun, t.died, t.healed)
		}
		all = append(all, t)
		if err := o.write(t); err != nil {
			return err
		}
	}
	fmt.Println(summary(all))
	return nil
}

// write adds a trial to the file.
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
