package regress

import (
	"errors"
	"fmt"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/others"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// scene is a network in which both versions are measured.
type scene struct {
	name    string
	says    string
	quick   bool // part of SET=quick
	aside   bool // measures both versions at the same time, because it only counts bytes
	figures []figure
	measure func(r *run) error
	// In some scenes, the function stand() is used in place of measure(). It sets up a network, and
	// returns a function that measures this network for a short time. All networks of a pair exist
	// at the same time. Each is measured as often as the field rounds says.
	stand  func(r *run) (turn func() error, err error)
	rounds int
}

// scenes lists all scenes, in the table's order.
var scenes = []scene{spines, many, veth, asking, web, crowd, death, comeback, beside20, beside200, incast, idle, adsl, steady}

// run is the measurement of one version in one scene.
type run struct {
	bin    string
	got    map[string]float64
	ending []func() error
}

// play measures one version once. The result `foreign` is the number of processors that foreign
// processes used during the measurement.
func (s scene) play(v version) (got map[string]float64, foreign float64, err error) {
	before, err := others.Now()
	if err != nil {
		return nil, 0, err
	}
	r := newRun(v)
	err = s.measure(r)
	after, readErr := others.Now()
	foreign = after.Since(before)
	return r.got, foreign, s.failed(v, errors.Join(err, r.end(), readErr))
}

func (s scene) failed(v version, err error) error {
	if err != nil {
		err = fmt.Errorf("%s, %s: %w", s.name, v.name, err)
	}
	return err
}

func newRun(v version) *run { return &run{bin: v.bin, got: map[string]float64{}} }

// end closes all resources of the run, the newest first.
func (r *run) end() (err error) {
	for i := len(r.ending) - 1; i >= 0; i-- {
		err = errors.Join(err, r.ending[i]())
	}
	return err
}

// atEnd registers a function that runs at the end of the run.
func (r *run) atEnd(c func() error) { r.ending = append(r.ending, c) }

func (r *run) set(f figure, v float64) { r.got[f.name] = v }

// network builds a fabric that the run removes at its end.
func (r *run) network(spec fabric.Spec) (*fabric.Fabric, error) {
	f, err := fabric.New(spec)
	if err != nil {
		return nil, err
	}
	r.atEnd(f.Close)
	return f, nil
}

// pair starts a daemon on each of two hosts, with a tunnel between them.
func (r *run) pair(a, b *fabric.Host, c tunnel.Config) (*tunnel.Pair, error) {
	p, err := tunnel.NewPair(r.bin, a, b, c, false)
	if p != nil {
		r.atEnd(p.Close)
	}
	return p, err
}

// tunnelled builds a fabric with a tunnel between its first hosts.
func (r *run) tunnelled(spec fabric.Spec) (*fabric.Fabric, error) {
	f, err := r.network(spec)
	if err != nil {
		return nil, err
	}
	_, err = r.pair(f.A(1), f.B(1), tunnel.Config{})
	return f, err
}

// tunnelledVeth connects two hosts by a veth pair, and by a tunnel over it.
func (r *run) tunnelledVeth() (*fabric.Direct, *tunnel.Pair, error) {
	d, err := fabric.NewDirect(fabric.DirectSpec{WireLike: true})
	if err != nil {
		return nil, nil, err
	}
	r.atEnd(d.Close)
	p, err := r.pair(d.A, d.B, tunnel.Config{})
	return d, p, err
}
