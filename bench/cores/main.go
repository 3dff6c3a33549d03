// Package cores measures how many processors the daemon can use for one peer. The package reports
// the rate for different numbers of workers, the cost of a train, and the time that threads wait
// for locks. Only one thread at a time processes a peer's state, and only one writes a flow's
// frames to the device.
//
//	sudo bin/bench cores -workers 1,2,4,8,16
package cores

import (
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

type options struct {
	srdtun  []string
	workers []int
	flows   int
	runs    int
	span    time.Duration
	wire    bool
}

// settle is how long a load runs before the measurement begins, and after it ends.
const settle = time.Second

// Main runs the subcommand "bench cores".
func Main(args []string) error {
	var o options
	f := flag.NewFlagSet("bench cores", flag.ContinueOnError)
	bins := f.String("bin", "bin/srdtun", "the srdtun to measure, or several, with commas, in turn")
	workers := f.String("workers", "1,2", "`threads` of each daemon, several with commas, in turn")
	f.IntVar(&o.flows, "flows", 8, "TCP `flows` at once")
	f.IntVar(&o.runs, "runs", 5, "how `often` each is measured")
	f.DurationVar(&o.span, "for", 4*time.Second, "how `long` a run counts")
	f.BoolVar(&o.wire, "wire", false, "packets cross the cable one by one, as where no card merges them")
	if err := f.Parse(args); err != nil {
		return err
	}
	o.srdtun = strings.Split(*bins, ",")
	for _, text := range strings.Split(*workers, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-workers: %q is no number of threads", text)
		}
		o.workers = append(o.workers, n)
	}
	if f.NArg() > 0 || o.flows < 1 || o.runs < 1 || o.span < time.Second {
		f.Usage()
		return errors.New("see the flags above")
	}
	fabric.Command("bench cores", "", o.run)
	return nil
}

func (o options) run() error {
	fmt.Println("Of each train: processor time, waits for the peer's lock, waits for a turn to write.")
	for i := range o.runs {
		for _, bin := range o.srdtun {
			for _, n := range o.workers {
				sends, takes, rate, err := o.measure(bin, n)
				if err != nil {
					return err
				}
				fmt.Printf("%s, run %d, %2d workers: %5.2f Gbit/s; sender %s; receiver %s\n", bin, i+1, n, rate/1e9, sends, takes)
			}
		}
	}
	return nil
}

// measure returns the sender's costs, the receiver's costs, and the rate in bit/s.
func (o options) measure(bin string, workers int) (sends, takes cost, rate float64, err error) {
	f, err := fabric.NewDirect(fabric.DirectSpec{WireLike: o.wire})
	if err != nil {
		return cost{}, cost{}, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	pair, err := tunnel.NewPair(bin, f.A, f.B, tunnel.Config{Extra: fmt.Sprintf("workers = %d\n", workers), Profiles: true}, false)
	if err != nil {
		return cost{}, cost{}, 0, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	r, err := meter.Start(meter.Flow{Client: f.A, Server: f.B, To: tunnel.Inner4(2), Streams: o.flows, For: 2*settle + o.span})
	if err != nil {
		return cost{}, cost{}, 0, err
	}
	time.Sleep(settle)
	sends, errA := look(pair.A)
	takes, errB := look(pair.B)
	time.Sleep(o.span)
	sendsLater, errC := look(pair.A)
	takesLater, errD := look(pair.B)
	if err := errors.Join(errA, errB, errC, errD, r.Wait()); err != nil {
		return cost{}, cost{}, 0, err
	}
	return sendsLater.since(sends), takesLater.since(takes), r.Sum().Mean(settle, settle+o.span), nil
}
