// Package cores says how many processors one peer can use. Each end of a cable without a rate
// limit runs the shipped daemon; the cable carries trains whole. TCP flows go through the
// tunnel. `show --json` has the counts of the two steps that one thread at a time can do for a
// peer. Package cores prints the measured work for each train. A model of queues computes from
// it the rate with more cores than the machine has (model.go).
//
// The command needs root, takes the machine for itself, and removes all its changes however it
// ends.
package cores

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// options are the flags of the command line.
type options struct {
	srdtun  []string
	workers int
	flows   int
	runs    int
	span    time.Duration
	wire    bool
	outlets int
}

// settle is how long flows grow before anything is counted.
const settle = time.Second

// Main is "bench cores".
func Main(args []string) error {
	var o options
	f := flag.NewFlagSet("bench cores", flag.ContinueOnError)
	bins := f.String("bin", "bin/srdtun", "the srdtun to measure, or several, with commas, in turn")
	f.IntVar(&o.workers, "workers", 1, "`threads` of each daemon")
	f.IntVar(&o.flows, "flows", 8, "TCP `flows` at once")
	f.IntVar(&o.runs, "runs", 5, "how `often` each is measured")
	f.DurationVar(&o.span, "for", 4*time.Second, "how `long` a run counts")
	f.BoolVar(&o.wire, "wire", false, "packets cross the cable one by one, as where no card merges them")
	f.IntVar(&o.outlets, "outlets", 8, "how many `threads` can write to the device for a peer at once")
	threads := f.Int("check", 0, "hold the model against so many `threads` that count, and run nothing else")
	if err := f.Parse(args); err != nil {
		return err
	}
	o.srdtun = strings.Split(*bins, ",")
	if f.NArg() > 0 || o.workers < 1 || o.flows < 1 || o.runs < 1 || o.outlets < 1 || o.span < time.Second {
		f.Usage()
		return errors.New("see the flags above")
	}
	if *threads > 0 {
		for _, held := range []time.Duration{6, 12, 24, 36} {
			held *= time.Microsecond
			check(work{free: 60*time.Microsecond - held, stations: []time.Duration{held}}, *threads)
		}
		return nil
	}
	fabric.Command("bench cores", "", o.run)
	return nil
}

func (o options) run() error {
	fmt.Println(heading)
	for i := range o.runs {
		for _, bin := range o.srdtun {
			sends, takes, rate, err := o.measure(bin)
			if err != nil {
				return err
			}
			fmt.Printf("%s, run %d: %.2f Gbit/s\n%s\n%s\n", bin, i+1, rate/1e9, sends.line(o.outlets), takes.line(o.outlets))
		}
	}
	return nil
}

// measure runs flows through a tunnel of its own. It returns the counts of both ends, and the
// goodput in bit/s.
func (o options) measure(bin string) (sends, takes *end, rate float64, err error) {
	f, err := fabric.NewDirect(fabric.DirectSpec{WireLike: o.wire})
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	pair, err := tunnel.NewPair(bin, f.A, f.B, tunnel.Config{Extra: fmt.Sprintf("workers = %d\n", o.workers)}, false)
	if err != nil {
		return nil, nil, 0, err
	}
	defer func() { err = errors.Join(err, pair.Close()) }()
	r, err := meter.Start(meter.Flow{Client: f.A, Server: f.B, To: tunnel.Inner4(2), Streams: o.flows, For: 2*settle + o.span})
	if err != nil {
		return nil, nil, 0, err
	}
	time.Sleep(settle)
	if sends, err = look("sends", pair.A); err != nil {
		return nil, nil, 0, err
	}
	if takes, err = look("takes", pair.B); err != nil {
		return nil, nil, 0, err
	}
	time.Sleep(o.span)
	for _, e := range []*end{sends, takes} {
		if err := e.since(); err != nil {
			return nil, nil, 0, err
		}
	}
	if err := r.Wait(); err != nil {
		return nil, nil, 0, err
	}
	return sends, takes, r.Sum().Mean(settle, settle+o.span), nil
}
