package steer

import (
	"math"
	"runtime"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/mono"
)

// made returns a policy by name, with options that some policies use.
func made(t testing.TB, name string, seed uint64) Policy {
	t.Helper()
	p, err := New(name, Options{Seed: seed, Weights: []int{3, 1}, Primary: 2})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := p.(Placed); ok {
		for i := range MaxPaths {
			c.Place(i, i%3)
		}
	}
	return p
}

// each runs f for every policy.
func each(t *testing.T, f func(t *testing.T, name string)) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) { f(t, name) })
	}
}

// happen makes a random call of p, as a connection may.
func happen(t *rapid.T, p Policy, now mono.Time) {
	path := rapid.IntRange(0, MaxPaths-1).Draw(t, "path")
	switch rapid.IntRange(0, 6).Draw(t, "verb") {
	case 0, 1:
		p.Sample(now, path, Sample{
			Queue: time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "queue")),
			RTT:   time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "rtt")),
			CE:    rapid.Bool().Draw(t, "ce"),
		})
	case 2:
	case 3:
		p.Reset(path)
	case 4:
		if s, ok := p.(Sender); ok {
			s.Sent(now, path, rapid.Uint32().Draw(t, "flow"), rapid.IntRange(1, 65507).Draw(t, "bytes"))
		}
	case 5:
		if r, ok := p.(Remote); ok {
			r.Reported(now, path, rapid.Uint8().Draw(t, "metric"))
		}
	case 6:
		if c, ok := p.(Placed); ok {
			c.Place(path, rapid.IntRange(-1, 2*MaxClasses).Draw(t, "class"))
		}
	}
}

// After any calls every policy picks a usable path, and another usable path for second
// copies. Weights are between 0 and 1.
func TestPoliciesPickMembers(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		rapid.Check(t, func(t *rapid.T) {
			p, err := New(name, Options{Seed: rapid.Uint64().Draw(t, "seed"), Weights: []int{7, 1, 1000}, Primary: 1})
			if err != nil {
				t.Fatal(err)
			}
			usable, now := drawSet(t), mono.Time(1)
			for range rapid.IntRange(1, 100).Draw(t, "steps") {
				now += mono.Time(rapid.Int64Range(0, int64(time.Second)).Draw(t, "wait"))
				if rapid.IntRange(0, 5).Draw(t, "other paths") == 0 {
					usable = drawSet(t)
				}
				happen(t, p, now)
				c := Context{
					Target: time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "target")),
					Flow:   rapid.Uint32Range(0, 5).Draw(t, "flow"),
					Bytes:  rapid.IntRange(0, 1<<20).Draw(t, "bytes"),
					Repair: rapid.Bool().Draw(t, "repair"),
				}
				path := p.Pick(now, usable, c)
				if path < 0 || path >= MaxPaths || !usable.Has(path) {
					t.Fatalf("picked %d, which may not be used", path)
				}
				if d, ok := p.(Doubled); ok {
					second, ok := d.Second(now, usable, c, path)
					if d.Doubles(false) && ok != (usable.Len() > 1) || ok && (second == path || !usable.Has(second)) {
						t.Fatalf("after %d: second %d, %v", path, second, ok)
					}
				}
				if w := p.Weight(path); !(w >= 0 && w <= 1) {
					t.Fatalf("path %d has weight %v", path, w)
				}
			}
		})
	})
}

// play gives p the same 2,000 events each time and returns its choices.
func play(p Policy) (v []int) {
	usable, fewer := setOf(13), setOf(9)
	for i := range 2000 {
		now, set := mono.Time(i+1)*2e5, usable
		if i/100%3 == 2 {
			set = fewer
		}
		flow := uint32(i * i % 31)
		path := p.Pick(now, set, Context{Target: target, Flow: flow, Bytes: 9000})
		v = append(v, path)
		p.Sample(now, path, Sample{Queue: time.Duration(i%7) * time.Millisecond, RTT: time.Millisecond, CE: i%5 == 0})
		if s, ok := p.(Sender); ok {
			s.Sent(now, path, flow, 9000)
		}
		if r, ok := p.(Remote); ok {
			r.Reported(now, i%13, uint8(i%11))
		}
		if i%50 == 49 {
		}
	}
	return v
}

// The same seed and the same calls give the same paths. If the policy chooses at random,
// another seed gives other paths.
func TestPoliciesAreDeterministic(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		if !slices.Equal(play(made(t, name, 1)), play(made(t, name, 1))) {
			t.Error("one seed, two sequences")
		}
		lots := name != "presto" && name != "active-backup"
		if slices.Equal(play(made(t, name, 1)), play(made(t, name, 2))) == lots {
			t.Errorf("two seeds, different sequences: %v", !lots)
		}
	})
}

// mallocs returns the number of allocations during f. (testing.AllocsPerRun returns a
// mean, rounded down, which hides rare ones.)
func mallocs(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.Mallocs - before.Mallocs
}

// No policy allocates after its first choice, for any flows. A growing table would
// allocate once in many thousand choices.
func TestPoliciesDoNotAllocate(t *testing.T) {
	each(t, func(t *testing.T, name string) {
		p, usable, fewer := made(t, name, 3), setOf(64), setOf(40)
		now, flow := mono.Time(1), uint32(1)
		round := func() {
			now += 1e5
			flow = flow*1664525 + 1013904223
			c := Context{Target: target, Flow: flow, Bytes: 1500}
			path := p.Pick(now, usable, c)
			p.Sample(now, path, Sample{Queue: time.Duration(now % 5e6), RTT: time.Millisecond, CE: now%3 == 0})
			if s, ok := p.(Sender); ok {
				s.Sent(now, path, flow, 1500)
			}
			if r, ok := p.(Remote); ok {
				r.Reported(now, path, uint8(now%8))
			}
			if d, ok := p.(Doubled); ok {
				d.Second(now, usable, c, path)
			}
			c.Repair = true
			p.Pick(now, fewer, c)
			p.Weight(path)
		}
		round()
		// Each run has as many choices as all runs before it, so a table that doubles would grow
		// in every run. The runtime also allocates sometimes, but not in every run.
		least, n := ^uint64(0), 2_000
		for range 4 {
			least = min(least, mallocs(func() {
				for range n {
					round()
				}
			}))
			n *= 2
		}
		if least != 0 {
			t.Errorf("%d allocations", least)
		}
	})
}

// A policy of flowlets keeps a flow on its path while the gaps are shorter than the
// timeout and the path is usable. Repairs in between change nothing.
func TestFlowletsAreNotTornApart(t *testing.T) {
	type seen struct {
		path int
		at   mono.Time
	}
	for _, name := range []string{"letflow", "conga", "conga-flow", "clove-ecn"} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				timeout := time.Duration(rapid.Int64Range(1e4, 2e7).Draw(t, "timeout"))
				p, err := New(name, Options{Seed: rapid.Uint64().Draw(t, "seed"), FlowletTimeout: timeout})
				if err != nil {
					t.Fatal(err)
				}
				last := map[uint32]seen{}
				usable, now := drawSet(t), mono.Time(1)
				for range rapid.IntRange(1, 200).Draw(t, "steps") {
					now += mono.Time(rapid.Int64Range(0, int64(timeout)).Draw(t, "wait"))
					if rapid.IntRange(0, 9).Draw(t, "other paths") == 0 {
						usable = drawSet(t)
					}
					if rapid.IntRange(0, 3).Draw(t, "event") == 0 {
						happen(t, p, now)
					}
					flow := rapid.Uint32Range(0, 5).Draw(t, "flow")
					p.Pick(now, usable, Context{Flow: flow, Repair: true})
					path := p.Pick(now, usable, Context{Flow: flow})
					if l, ok := last[flow]; ok && now.Sub(l.at) < timeout && usable.Has(l.path) && path != l.path {
						t.Fatalf("flow %d went from %d to %d after %v", flow, l.path, path, now.Sub(l.at))
					}
					last[flow] = seen{path, now}
				}
			})
		})
	}
}

// The default timeouts are the papers' values. A flow stays through pauses shorter than
// one timeout, even on the worst path. After two timeouts it moves.
func TestFlowletTimeouts(t *testing.T) {
	for name, timeout := range map[string]time.Duration{
		"letflow": 500 * time.Microsecond, "clove-ecn": 500 * time.Microsecond, "conga": 500 * time.Microsecond, "conga-flow": 13 * time.Millisecond,
	} {
		p, usable, now := made(t, name, 5), setOf(64), mono.Time(1e9)
		home, moved := p.Pick(now, usable, Context{Flow: 1}), 0
		pause := func(d time.Duration) bool {
			now = now.Add(d)
			if r, ok := p.(Remote); ok {
				r.Reported(now, home, MetricMost)
			}
			path := p.Pick(now, usable, Context{Flow: 1})
			stayed := path == home
			home = path
			return stayed
		}
		for range 50 {
			if !pause(timeout - 1) {
				t.Errorf("%s: moves after less than %v", name, timeout)
			}
			if !pause(2 * timeout) {
				moved++
			}
		}
		if moved < 45 { // letflow sometimes draws the same of 64 paths again
			t.Errorf("%s: moves after %d of 50 pauses of two timeouts", name, moved)
		}
	}
}

// CONGA's options take effect. The defaults are those of the paper (section 3.6): a time
// constant of 160 us.
func TestCongaIsConfigurable(t *testing.T) {
	for _, c := range []struct {
		o    Options
		tau  float64 // seconds
		full float64 // bytes
	}{
		{Options{}, 160e-6, 0},
		{Options{DREAlpha: 0.5}, 40e-6, 0},
		{Options{DREPeriod: 50 * time.Microsecond}, 400e-6, 0},
		{Options{DREAlpha: 0.25, DREPeriod: 100 * time.Microsecond, LinkRate: 1.25e9}, 400e-6, 500_000},
	} {
		for _, name := range []string{"conga", "conga-flow"} {
			p, err := New(name, c.o)
			if err != nil {
				t.Fatal(err)
			}
			a := p.(*Conga)
			if tau := a.shape.tau(); math.Abs(tau-c.tau) > 1e-12 || math.Abs(a.fixed-c.full) > 1e-6 {
				t.Errorf("%s with %+v: tau %v s, full at %v bytes; want %v, %v", name, c.o, tau, a.fixed, c.tau, c.full)
			}
		}
	}
}

// A flowlet ends after a gap of two timeouts at the latest.
func TestFlowletsEnd(t *testing.T) {
	for _, name := range []string{"letflow", "clove-ecn"} {
		p, usable, moved := made(t, name, 4), setOf(16), 0
		last := -1
		for i := range 100 {
			now := mono.Time(i+1) * mono.Time(2*DefaultFlowletTimeout)
			if path := p.Pick(now, usable, Context{}); path != last {
				moved, last = moved+1, path
			}
		}
		if moved < 80 {
			t.Errorf("%s: %d of 100 flowlets on another path", name, moved)
		}
	}
}

func TestRegistry(t *testing.T) {
	if v := Names(); v[0] != "spray" || len(v) != 12 {
		t.Errorf("%v", v)
	}
	if _, err := New("spry", Options{}); err == nil || err.Error()[:30] != `no path policy is named "spry"` {
		t.Errorf("%v", err)
	}
	for _, o := range []Options{
		{FlowletTimeout: -1}, {Flowcell: -1}, {Weights: []int{1, 0}}, {Weights: []int{MaxWeight + 1}},
		{Weights: make([]int, MaxClasses+1)}, {Primary: -1}, {Primary: MaxClasses + 1},
		{DREAlpha: 1}, {DREAlpha: 0.001}, {DREPeriod: -1}, {LinkRate: -1},
	} {
		if _, err := New("conga", o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

func TestScopes(t *testing.T) {
	want := map[string]Scope{"spray": PerTrain, "duplicate": PerTrain, "active-backup": PerPeer}
	each(t, func(t *testing.T, name string) {
		scope, known := want[name]
		if !known {
			scope = PerFlow
		}
		if s := ScopeOf(made(t, name, 1)); s != scope {
			t.Errorf("scope %d", s)
		}
	})
}
