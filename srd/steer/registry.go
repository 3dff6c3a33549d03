package steer

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/srd/mono"
)

// Options are the settings of all policies. A zero field means the policy's default. A policy
// ignores the fields that it does not use.
type Options struct {
	Seed uint64
	// Granularity is the accuracy of the two ends' timers, as in srd.Config. A Granularity of
	// zero means mono.Granularity. Policy spray uses Granularity.
	Granularity time.Duration
	// FlowletTimeout sets the length of a pause that ends a flowlet: one to two FlowletTimeouts.
	// Policies letflow, conga, conga-flow and clove-ecn use FlowletTimeout.
	FlowletTimeout time.Duration
	// Weights are the weights of paths by class, each 1 to MaxWeight. Classes beyond the list
	// have weight 1. Policies wcmp and presto use Weights.
	Weights []int
	// Primary is the number of the preferred class, from 1. A Primary of zero means no preferred
	// class. Policy active-backup uses Primary.
	Primary int
	// Flowcell is a flowcell's size in bytes. Policy presto uses Flowcell.
	Flowcell int
	// DREAlpha and DREPeriod are the parameters of the rate estimators, whose time constant is
	// DREPeriod / DREAlpha. LinkRate is the rate of every path in bytes per second, or zero if it
	// is unknown. Policies conga and conga-flow use DREAlpha, DREPeriod and LinkRate.
	DREAlpha  float64
	DREPeriod time.Duration
	LinkRate  float64
}

// makers contains the function that makes each policy, by its name.
var makers = []struct {
	name string
	make func(o *Options) Policy
}{
	{"spray", func(o *Options) Policy { return newSpray(o.Seed, or(o.Granularity, mono.Granularity)) }},
	{"ecmp", func(o *Options) Policy { return NewECMP(o.Seed) }},
	{"wcmp", func(o *Options) Policy { return NewWCMP(o.Seed, o.Weights) }},
	{"letflow", func(o *Options) Policy { return NewLetFlow(o.Seed, or(o.FlowletTimeout, DefaultFlowletTimeout)) }},
	{"conga", func(o *Options) Policy { return NewConga(o.Seed, o.conga(DefaultFlowletTimeout)) }},
	{"conga-flow", func(o *Options) Policy { return NewConga(o.Seed, o.conga(FlowTimeout)) }},
	{"clove-ecn", func(o *Options) Policy { return NewCloveECN(o.Seed, or(o.FlowletTimeout, DefaultFlowletTimeout)) }},
	{"presto", func(o *Options) Policy { return NewPresto(o.Weights, or(o.Flowcell, DefaultFlowcell)) }},
	{"plb", func(o *Options) Policy { return NewPLB(o.Seed) }},
	{"flowbender", func(o *Options) Policy { return NewFlowBender(o.Seed) }},
	{"duplicate", func(o *Options) Policy { return NewDuplicate(o.Seed) }},
	{"active-backup", func(o *Options) Policy { return NewActiveBackup(o.Primary - 1) }},
}

func or[T int | float64 | time.Duration](v, standard T) T {
	if v == 0 {
		return standard
	}
	return v
}

func (o *Options) conga(timeout time.Duration) CongaConfig {
	return CongaConfig{
		Timeout: or(o.FlowletTimeout, timeout), Rate: o.LinkRate,
		Alpha: or(o.DREAlpha, DefaultDREAlpha), Period: or(o.DREPeriod, DefaultDREPeriod),
	}
}

// Names returns the names of all policies, and the default first.
func Names() []string {
	var v []string
	for _, m := range makers {
		v = append(v, m.name)
	}
	return v
}

// New returns a policy by name. The error names the unknown policy or the option that is out of
// bounds.
func New(name string, o Options) (Policy, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	for _, m := range makers {
		if m.name == name {
			return m.make(&o), nil
		}
	}
	return nil, fmt.Errorf("no path policy is named %.32q; there are %s", name, strings.Join(Names(), ", "))
}

// check returns an error for the first option that is out of bounds.
func (o *Options) check() error {
	switch {
	case o.Granularity < 0:
		return fmt.Errorf("granularity %v is below zero", o.Granularity)
	case o.FlowletTimeout < 0:
		return fmt.Errorf("flowlet timeout %v is below zero", o.FlowletTimeout)
	case o.Flowcell < 0:
		return fmt.Errorf("flowcell of %d bytes is below zero", o.Flowcell)
	case len(o.Weights) > MaxClasses || slices.ContainsFunc(o.Weights, func(w int) bool { return w < 1 || w > MaxWeight }):
		return fmt.Errorf("weights %v: want at most %d, from 1 to %d", o.Weights, MaxClasses, MaxWeight)
	case o.Primary < 0 || o.Primary > MaxClasses:
		return fmt.Errorf("primary %d: want 1 to %d", o.Primary, MaxClasses)
	case o.DREAlpha != 0 && !(o.DREAlpha >= MinDREAlpha && o.DREAlpha < 1):
		return fmt.Errorf("alpha %v: want %v to less than 1", o.DREAlpha, MinDREAlpha)
	case o.DREPeriod < 0:
		return fmt.Errorf("period %v is below zero", o.DREPeriod)
	case !(o.LinkRate >= 0):
		return fmt.Errorf("link rate %v is below zero", o.LinkRate)
	}
	return nil
}
