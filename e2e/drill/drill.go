// Package drill disturbs running daemons in ways that happen to hosts and networks. Each drill
// reports the recovery times with their bounds. Each drill builds its own network. After the
// disturbance, the daemons must carry traffic again.
package drill

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/linkemu"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// Drill is a disturbance of a tunnel, with a name.
type Drill struct {
	Name  string
	Says  string // description of the drill in one line
	Quick bool   // the short drill takes only seconds
	run   func(r *run) error
}

// All lists the drills in the order in which they run.
var All = []Drill{
	{"kill", "kill -9 of the end that knows no address, under load", true, kill},
	{"move", "the address of either end changes, under load", true, move},
	{"dead", "all paths dead", false, dead},
	{"corrupt", "5 % of packets corrupted behind the UDP checksum", false, corrupt},
	{"duplicate", "every packet twice", true, duplicate},
	{"descriptors", "no descriptor is left", true, descriptors},
	{"replay", "all packets of a session again and again", false, replay},
}

// Row is a measured value with its bound.
type Row struct {
	Drill, What, Bound, Got string
	Missed                  bool
}

// Options are settings that apply to all drills.
type Options struct {
	Bin   string // path of the srdtun binary to test
	Short bool   // seconds instead of minutes, where the time makes no difference
	Log   io.Writer
}

// Run runs one drill, and returns its measurements. An error of the drill counts as a missed
// bound.
func (d Drill) Run(o Options) []Row {
	r := &run{Options: o, drill: d.Name}
	begun := time.Now()
	err := errors.Join(d.run(r), r.end())
	if err != nil {
		r.rows = append(r.rows, Row{d.Name, "goes through", "no error", firstLine(err), true})
		fmt.Fprintf(o.Log, "%s: %v\n", d.Name, err)
	}
	fmt.Fprintf(o.Log, "%s: %.0f s\n", d.Name, time.Since(begun).Seconds())
	return r.rows
}

func firstLine(err error) string {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return s
}

// run is the state of a drill in progress.
type run struct {
	Options
	drill string
	rows  []Row
	undo  []func() error
}

// later registers a function for the end of the drill. The functions run in reverse order.
func (r *run) later(f func() error) { r.undo = append(r.undo, f) }

func (r *run) end() (err error) {
	for _, f := range slices.Backward(r.undo) {
		err = errors.Join(err, f())
	}
	return err
}

// within adds a row to the results: it compares the duration got with the upper limit bound.
func (r *run) within(what string, got, bound time.Duration) {
	text := fmt.Sprintf("%.2f s", got.Seconds())
	if got >= never {
		text = "never"
	}
	r.rows = append(r.rows, Row{r.drill, what, fmt.Sprintf("<= %.2g s", bound.Seconds()), text, got > bound})
}

// never is the duration until an event that did not happen.
const never = time.Hour

// most and least add rows for numbers with an upper or a lower bound.
func (r *run) most(what string, got, bound float64) {
	r.rows = append(r.rows, Row{r.drill, what, fmt.Sprintf("<= %.4g", bound), fmt.Sprintf("%.4g", got), got > bound})
}

func (r *run) least(what string, got, bound float64, unit string) {
	r.rows = append(r.rows, Row{r.drill, what, fmt.Sprintf(">= %.4g%s", bound, unit), fmt.Sprintf("%.4g%s", got, unit), got < bound})
}

// is adds a row for an observed text and the expected text.
func (r *run) is(what, want, got string) {
	r.rows = append(r.rows, Row{r.drill, what, want, got, got != want})
}

// pick returns the first duration for a short drill, and the second duration for a full drill.
func (r *run) pick(short, whole time.Duration) time.Duration {
	if r.Short {
		return short
	}
	return whole
}

// fabric builds a network that the drill removes at its end.
func (r *run) fabric(s fabric.Spec) (*fabric.Fabric, error) {
	f, err := fabric.New(s)
	if err == nil {
		r.later(f.Close)
	}
	return f, err
}

// direct builds a network of two hosts and a cable, which the drill removes at its end.
func (r *run) direct() (*fabric.Direct, error) {
	d, err := fabric.NewDirect(fabric.DirectSpec{WireLike: true})
	if err == nil {
		r.later(d.Close)
	}
	return d, err
}

// pair starts a daemon on each of two hosts. The two daemons are each other's peers.
func (r *run) pair(a, b *fabric.Host, c tunnel.Config) (*tunnel.Pair, error) {
	p, err := tunnel.NewPair(r.Bin, a, b, c, false)
	return p, r.keep(p, err)
}

func (r *run) passive(a, b *fabric.Host) (*tunnel.Pair, error) {
	p, err := tunnel.NewPassivePair(r.Bin, a, b, 0)
	return p, r.keep(p, err)
}

func (r *run) keep(p *tunnel.Pair, err error) error {
	if p != nil {
		r.later(p.Close)
	}
	if err != nil && p != nil && p.A != nil && p.B != nil {
		fmt.Fprintln(r.Log, p.Report())
	}
	return err
}

// cables joins the cut cables of a fabric by link emulators with the same impairment.
func (r *run) cables(f *fabric.Fabric, im linkemu.Impairment) error {
	for i, line := range f.Lines {
		ab, err := linkemu.NewLine(uint64(2*i+1), im)
		if err != nil {
			return err
		}
		ba, _ := linkemu.NewLine(uint64(2*i+2), im) // as the one before
		var c *linkemu.Cable
		if err := line.Do(func() (err error) { c, err = linkemu.Join("left", "right", ab, ba); return err }); err != nil {
			return err
		}
		r.later(c.Close)
	}
	return f.Warm()
}
