package meter

import (
	"errors"
	"fmt"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// Schedule has the durations of an outage: healthy time, blackhole, and time to recover.
type Schedule struct{ Before, During, After time.Duration }

// settle is the time of slow start, which does not count in the goodput before the outage.
const settle = time.Second

// Outage is the result of a run in which the network drops all packets of a path for some time.
type Outage struct {
	Spine            int           // number of the failed spine
	BrokenAt, Healed time.Duration // times on the axis of the series
	Series           Series
	Before           float64 // bit/s
	Share            float64 // goodput during the outage / before
	After            float64 // bit/s
	Stall            time.Duration
	WorstFlowStall   time.Duration
}

// Blackhole starts the flow, makes the busiest spine drop everything after s.Before, and heals
// the spine s.During later. Blackhole sets flow.For from s.
func Blackhole(f *fabric.Fabric, flow Flow, s Schedule) (*Outage, error) {
	flow.For = s.Before + s.During + s.After
	since, err := f.Counters()
	if err != nil {
		return nil, err
	}
	r, err := Start(flow)
	if err != nil {
		return nil, err
	}
	o := &Outage{}
	if err := o.breakAndHeal(f, r, s, since); err != nil {
		r.Stop()
		return nil, err
	}
	// A flow that ended during a blackhole is a valid result, and counts as a stall.
	endErr := r.Wait()
	if len(r.Sum()) == 0 {
		return nil, fmt.Errorf("nothing was measured: %w", errors.Join(endErr, errors.New(r.server.Log.String())))
	}
	o.judge(r, flow.For)
	return o, nil
}

func (o *Outage) breakAndHeal(f *fabric.Fabric, r *Run, s Schedule, since []uint64) (err error) {
	if err := r.sleepUntil(s.Before); err != nil {
		return err
	}
	if o.Spine, err = f.Busiest(since); err != nil {
		return err
	}
	if err := f.Break(o.Spine); err != nil {
		return err
	}
	o.BrokenAt = r.Elapsed()
	time.Sleep(o.BrokenAt + s.During - r.Elapsed())
	o.Healed = r.Elapsed()
	return f.Heal()
}

// sleepUntil waits until the run has lasted for d, counted from its first report.
func (r *Run) sleepUntil(d time.Duration) error {
	for deadline := time.Now().Add(d + endSlack); r.Elapsed() < d; time.Sleep(20 * time.Millisecond) {
		select {
		case <-r.client.Done():
			return fmt.Errorf("iperf3 ended early: %s", r.client.Log.String())
		default:
		}
		if time.Now().After(deadline) {
			return errors.New("iperf3 reports nothing")
		}
	}
	return nil
}

func (o *Outage) judge(r *Run, end time.Duration) {
	o.Series = r.Sum()
	o.Before = o.Series.Mean(settle, o.BrokenAt-sampleEvery)
	if o.Before > 0 {
		o.Share = o.Series.Mean(o.BrokenAt, o.Healed) / o.Before
	}
	o.After = o.Series.Mean(o.Healed+settle, end-sampleEvery)
	o.Stall = o.Series.Stall(o.BrokenAt, end, o.Before)
	for _, s := range r.Streams() {
		o.WorstFlowStall = max(o.WorstFlowStall, s.Stall(o.BrokenAt, end, s.Mean(settle, o.BrokenAt-sampleEvery)))
	}
}

// String returns the outage as one line for a test log.
func (o *Outage) String() string {
	return fmt.Sprintf("before %.0f Mbit/s, during %.0f %%, after %.0f Mbit/s, stall %.1f s, worst flow's stall %.1f s (spine %d dead from %.1f s to %.1f s)",
		o.Before/1e6, o.Share*100, o.After/1e6, o.Stall.Seconds(), o.WorstFlowStall.Seconds(), o.Spine, o.BrokenAt.Seconds(), o.Healed.Seconds())
}
