package blackhole

import (
	"fmt"
	"slices"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/lab/stat"
)

const (
	// sample is the interval over which received bytes are counted. In a shorter interval,
	// sometimes no bytes arrive even on a healthy network, because both ends wait for a processor.
	sample = 5 * time.Millisecond
	// before is the time without a failure at the start of a trial. During this time the
	// benchmark measures the goodput and finds the busiest spine.
	before = 500 * time.Millisecond
	// heal is the time that the spine's paths have to recover before the next trial. The daemon
	// probes a failed path up to a second apart.
	heal = 1500 * time.Millisecond
	// stalled is a share of the goodput before the failure. A sample below this share counts as
	// part of a stall, as in package meter.
	stalled = 0.1
)

// trial is the result of one spine's failure. Times of a trial are in ms, and rates in Mbit/s.
type trial struct {
	Spine   int     `json:"spine"`
	Share   float64 `json:"share"`   // the failed spine's share of the bytes before the failure
	Before  float64 `json:"before"`  // goodput
	During  float64 `json:"during"`  // goodput while the spine was down
	Stall   float64 `json:"stall"`   // longest run of samples below a tenth of Before, from the failure on
	Quiet   float64 `json:"quiet"`   // the same before the failure, which shows pauses of the machine
	Worst   float64 `json:"worst"`   // longest stall of any single flow
	Healthy toll    `json:"healthy"` // TCP's cost before the failure
	Dead    toll    `json:"dead"`    // TCP's cost while the spine was down

	died, healed time.Time
}

// String formats the trial as one line.
func (t trial) String() string {
	return fmt.Sprintf("spine %d with %.0f %%: %.0f Mbit/s before, %.0f during, stall %.0f ms (before: %.0f, worst flow: %.0f), %v",
		t.Spine, 100*t.Share, t.Before, t.During, t.Stall, t.Quiet, t.Worst, t.Dead)
}

// measure lets the busiest spine fail and recover.
func (o options) measure(f *fabric.Fabric, from *tunnel.Node, fl *flows) (t trial, err error) {
	since, err := f.Counters()
	if err != nil {
		return t, err
	}
	var paid [3]toll
	if paid[0], err = tolls(from); err != nil {
		return t, err
	}
	begun := fl.mark()
	if err := fl.run(before); err != nil {
		return t, err
	}
	if t.Spine, err = f.Busiest(since); err != nil {
		return t, err
	}
	if t.Share, err = share(f, since, t.Spine); err != nil {
		return t, err
	}
	if paid[1], err = tolls(from); err != nil {
		return t, err
	}
	// Loading the rules that make the spine fail takes some milliseconds, and the spine fails at
	// some point in that time. So a stall is measured from the last sample before the rules were
	// loaded.
	died := fl.mark()
	t.died = time.Now()
	if err := o.hurt(f, t.Spine); err != nil {
		return t, err
	}
	if err := fl.run(o.dead); err != nil {
		return t, err
	}
	healed := fl.mark()
	t.healed = time.Now()
	if paid[2], err = tolls(from); err != nil {
		return t, err
	}
	if err := f.Heal(); err != nil {
		return t, err
	}
	if err := fl.run(heal); err != nil {
		return t, err
	}
	t.Before, t.During = fl.mean(begun, died), fl.mean(died, healed)
	t.Quiet, _ = fl.stall(begun, died, t.Before)
	t.Stall, t.Worst = fl.stall(died, healed, t.Before)
	t.Healthy, t.Dead = paid[1].less(paid[0]), paid[2].less(paid[1])
	return t, nil
}

// hurt makes the spine drop all packets, or the share of packets in the flag -permille.
func (o options) hurt(f *fabric.Fabric, spine int) error {
	if o.permille > 0 {
		return f.Lossy(spine, o.permille)
	}
	return f.Break(spine)
}

// share returns the spine's share of the bytes that left leaf A.
func share(f *fabric.Fabric, since []uint64, spine int) (float64, error) {
	now, err := f.Counters()
	if err != nil {
		return 0, err
	}
	sum := uint64(0)
	for i, n := range now {
		sum += n - since[i]
	}
	return float64(now[spine-1]-since[spine-1]) / float64(max(sum, 1)), nil
}

// summary returns the distribution of each value over all trials.
func summary(all []trial) string {
	of := func(get func(t trial) float64) (v []float64) {
		for _, t := range all {
			v = append(v, get(t))
		}
		slices.Sort(v)
		return v
	}
	q := func(v []float64) string {
		return fmt.Sprintf("p50 %.0f, p90 %.0f, p99 %.0f, max %.0f", stat.Quantile(v, 0.5), stat.Quantile(v, 0.9), stat.Quantile(v, 0.99), v[len(v)-1])
	}
	var healthy, dead toll
	for _, t := range all {
		healthy, dead = healthy.plus(t.Healthy), dead.plus(t.Dead)
	}
	return fmt.Sprintf("%d trials\nstall, ms:              %s\n... of the worst flow:  %s\n... before it died:     %s\n"+
		"goodput, Mbit/s:        before %.0f, during %.0f\nwhile dead:             %v\nbefore:                 %v",
		len(all), q(of(func(t trial) float64 { return t.Stall })), q(of(func(t trial) float64 { return t.Worst })),
		q(of(func(t trial) float64 { return t.Quiet })), stat.Quantile(of(func(t trial) float64 { return t.Before }), 0.5),
		stat.Quantile(of(func(t trial) float64 { return t.During }), 0.5), dead, healthy)
}
