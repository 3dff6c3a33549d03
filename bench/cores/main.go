// Package cores measures how many processors the daemon can use for one peer or several. The package
// reports the rate for different numbers of workers, the cost of a train, and the time that threads
// wait for locks. Only one thread at a time processes a peer's state, and only one writes a flow's
// frames to the device.
//
//	sudo bin/bench cores -workers 1,2,4,8,16 -peers 1,4
package cores

import (
	"errors"
	"flag"
	"fmt"
	"slices"
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
	peers   []int
	flows   int
	runs    int
	span    time.Duration
	wire    bool
}

// settle is how long a load runs before the measurement begins, and again after the measurement has
// ended.
const settle = time.Second

// Main runs the subcommand "bench cores".
func Main(args []string) error {
	var o options
	f := flag.NewFlagSet("bench cores", flag.ContinueOnError)
	bins := f.String("bin", "bin/srdtun", "the srdtun to measure, or several, with commas, in turn")
	workers := f.String("workers", "1,2", "`threads` of each daemon, several with commas, in turn")
	peers := f.String("peers", "1", "`peers` of the sender, several with commas, in turn; the flows are divided among them")
	f.IntVar(&o.flows, "flows", 8, "TCP `flows` at once")
	f.IntVar(&o.runs, "runs", 5, "how `often` each is measured")
	f.DurationVar(&o.span, "for", 4*time.Second, "how `long` a run counts")
	f.BoolVar(&o.wire, "wire", false, "packets cross the cable one by one, as where no card merges them")
	if err := f.Parse(args); err != nil {
		return err
	}
	o.srdtun = strings.Split(*bins, ",")
	var errs [2]error
	o.workers, errs[0] = numbers("-workers", *workers)
	o.peers, errs[1] = numbers("-peers", *peers)
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	if f.NArg() > 0 || o.flows < slices.Max(o.peers) || o.flows < 1 || o.runs < 1 || o.span < time.Second {
		f.Usage()
		return errors.New("see the flags above")
	}
	fabric.Command("bench cores", "", o.run)
	return nil
}

// numbers parses a list of numbers, each at least 1.
func numbers(flag, list string) (v []int, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return nil, fmt.Errorf("%s: %q is no number from 1", flag, text)
		}
		v = append(v, n)
	}
	return v, nil
}

func (o options) run() error {
	fmt.Println("Of each train: processor time, waits for the peer's lock (and their share of the processor time), waits for a turn to write.")
	for i := range o.runs {
		for _, bin := range o.srdtun {
			for _, peers := range o.peers {
				for _, n := range o.workers {
					measure := o.one
					if peers > 1 {
						measure = o.several
					}
					sends, takes, rate, err := measure(bin, n, peers)
					if err != nil {
						return err
					}
					fmt.Printf("%s, run %d, %d peers, %2d workers: %5.2f Gbit/s; sender %s; receivers %s\n", bin, i+1, peers, n, rate/1e9, sends, takes)
				}
			}
		}
	}
	return nil
}

// one measures a sender with one peer over a cable. It returns the sender's costs, the receiver's
// costs, and the rate in bit/s.
func (o options) one(bin string, workers, _ int) (sends, takes cost, rate float64, err error) {
	f, err := fabric.NewDirect(fabric.DirectSpec{WireLike: o.wire})
	if err != nil {
		return cost{}, cost{}, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	pair, err := tunnel.NewPair(bin, f.A, f.B, config(workers), false)
	if err != nil {
		return cost{}, cost{}, 0, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	return o.measure(pair.A, []*tunnel.Node{pair.B})
}

// several measures a sender with several peers behind one router.
func (o options) several(bin string, workers, peers int) (sends, takes cost, rate float64, err error) {
	f, err := fabric.New(fabric.Spec{HostsB: peers, Spines: 1, RateMbit: -1})
	if err != nil {
		return cost{}, cost{}, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var spokes []*fabric.Host
	for i := range peers {
		spokes = append(spokes, f.B(i+1))
	}
	nodes, err := tunnel.NewStarOf(bin, config(workers), f.A(1), spokes...)
	defer func() {
		for _, n := range nodes {
			err = errors.Join(err, n.Close())
		}
	}()
	if err != nil {
		return cost{}, cost{}, 0, err
	}
	return o.measure(nodes[0], nodes[1:])
}

func config(workers int) tunnel.Config {
	return tunnel.Config{Extra: fmt.Sprintf("workers = %d\n", workers), Profiles: true}
}

// measure sends flows from a node with the inner address 1 to the other nodes, whose inner
// addresses are 2 and following.
func (o options) measure(from *tunnel.Node, to []*tunnel.Node) (sends, takes cost, rate float64, err error) {
	var runs []*meter.Run
	for i, n := range to {
		r, err := meter.Start(meter.Flow{Client: from.Host, Server: n.Host, To: tunnel.Inner4(i + 2), Streams: o.flows / len(to), For: 2*settle + o.span})
		if err != nil {
			return cost{}, cost{}, 0, err
		}
		defer r.Stop()
		runs = append(runs, r)
	}
	time.Sleep(settle)
	sends, errA := look(from)
	takes, errB := lookAll(to)
	time.Sleep(o.span)
	sendsLater, errC := look(from)
	takesLater, errD := lookAll(to)
	errs := []error{errA, errB, errC, errD}
	for _, r := range runs {
		errs = append(errs, r.Wait())
		rate += r.Sum().Mean(settle, settle+o.span)
	}
	return sendsLater.since(sends), takesLater.since(takes), rate, errors.Join(errs...)
}
