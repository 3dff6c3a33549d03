package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// plan loads a plan from a text. Its network has 32 hosts and 16 spines.
func plan(t testing.TB, text string) *Plan {
	t.Helper()
	p, err := load(text)
	must(t, err)
	return p
}

const network = `
[network]
topology = "../testdata/ls32.topo"
queue = 400_000
[transport.srd]
kind = "srd"
ports = 16
mtu = 9000
granularity = "1us"
`

func load(text string) (*Plan, error) {
	return Load("plan.toml", func(file string) ([]byte, error) {
		if file == "plan.toml" {
			return []byte(text), nil
		}
		return data(file)
	})
}

// one runs the only case of the plan in a text.
func one(t testing.TB, text string) *Result {
	t.Helper()
	p := plan(t, text)
	r, err := Run(p, &p.Cases[0], Ideal, p.Seeds[0], nil)
	must(t, err)
	return r
}

const head = "seeds = [1]\nlimit = \"1s\"\n"

// lone is a case with one flow of 1 MB from one rack to another.
const lone = `
[[case]]
name = "lone"
transport = "srd"
[[case.flow]]
src = 1
dst = 17
size = 1_000_000
`

// A single flow completes in little more than its ideal time.
func TestLoneFlow(t *testing.T) {
	r := one(t, head+network+lone)
	f := r.Flows[0]
	// The ideal time is 80 us for the bytes at 100 Gbit/s, 4 us for the cables, and 4 times 120 ns
	// for a packet of 1500 bytes.
	if math.Abs(f.Ideal-84.48) > 0.01 {
		t.Errorf("ideal %v us", f.Ideal)
	}
	if f.Delivered != f.Size || f.FCT < f.Ideal || f.FCT > 1.3*f.Ideal {
		t.Errorf("%+v", f)
	}
	if s := r.Stats["srd"]; s.Retransmitted != 0 || s.Packets < 1_000_000/8920 {
		t.Errorf("%+v", s)
	}
}

// The same plan with the same seed gives exactly the same result; another seed gives another one.
func TestRunsAreDeterministic(t *testing.T) {
	p := plan(t, head+"sample = \"10us\"\n"+network+strings.Replace(lone, "size = 1_000_000", "size = 1_000_000\ncount = 3", 1)+
		"[[case.fault]]\nkind = \"loss\"\ntier = 1\ncables = [1, 2, 3, 4, 5]\nvalue = 0.1\n")
	run := func(seed uint64) *Result {
		r, err := Run(p, &p.Cases[0], Ideal, seed, nil)
		must(t, err)
		return r
	}
	a, b, c := run(1), run(1), run(2)
	if !reflect.DeepEqual(a, b) {
		t.Errorf("two runs of one seed differ: %s, %s", a.Hash, b.Hash)
	}
	if a.Hash == c.Hash {
		t.Errorf("two seeds give one hash")
	}
	if s := a.Stats["srd"]; s.Retransmitted == 0 {
		t.Error("no losses")
	}
}

// The sum of a flow's samples is the number of its delivered bytes.
func TestSamples(t *testing.T) {
	r := one(t, "seeds = [1]\nlimit = \"1ms\"\nsample = \"100us\"\n"+network+strings.Replace(lone, "size = 1_000_000", "size = 0\ncount = 2", 1))
	if len(r.Samples) != 10 || r.Sample != 100 {
		t.Fatalf("%d samples of %v us", len(r.Samples), r.Sample)
	}
	for i, f := range r.Flows {
		var sum int64
		for _, row := range r.Samples {
			sum += row[i]
		}
		// The last sample may lack the bytes of the last moment.
		if sum > f.Delivered || sum < f.Delivered*99/100 || f.FCT != 0 {
			t.Errorf("flow %d: %d in samples, %+v", i, sum, f)
		}
		if rate := float64(f.Delivered) * 8 / 1e-3; rate < 40e9 || rate > 50e9 {
			t.Errorf("flow %d: %.1f Gbit/s, want nearly 50", i, rate/1e9)
		}
	}
}

// A batch starts only after the previous one has ended.
func TestBatches(t *testing.T) {
	r := one(t, head+network+`
[[case]]
name = "batches"
transport = "srd"
matrix = "../testdata/srd_incast48_64K.cm"
batches = 3
`)
	end := [3]float64{}
	for i, f := range r.Flows {
		end[i/48] = max(end[i/48], f.Start+f.FCT)
		if i >= 48 && f.Start < end[i/48-1]-1e-3 { // less a nanosecond, because times are rounded
			t.Fatalf("flow %d starts at %v, the batch before ends at %v", i, f.Start, end[i/48-1])
		}
		if f.FCT == 0 {
			t.Fatalf("flow %d did not end", i)
		}
	}
}

// Faults must take effect. A failed cable carries no packets and a slow cable carries fewer, but
// the flow completes.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		fault string
		look  func(r *Result, up, down LinkResult) bool
	}{
		{"kind = \"dead\"", func(r *Result, up, down LinkResult) bool { return up.Packets == 0 && up.Faults > 0 }},
		{"kind = \"loss\"\nvalue = 0.5\ndown_only = true", func(r *Result, up, down LinkResult) bool { return up.Faults == 0 && down.Faults > 0 }},
		{"kind = \"rate\"\nvalue = 0.1", func(r *Result, up, down LinkResult) bool { return up.Packets > 0 && up.Faults == 0 }},
		{"kind = \"dead\"\nat = \"20us\"\nfor = \"20us\"", func(r *Result, up, down LinkResult) bool { return up.Packets > 0 && up.Faults > 0 }},
	} {
		// The cables of the first rack are 0 to 15.
		r := one(t, head+network+lone+"[[case.fault]]\ntier = 1\ncables = [0, 1, 2, 3, 4, 5, 6, 7]\n"+c.fault+"\n")
		var up, down LinkResult
		for _, l := range r.Links {
			for spine := range 8 {
				add := func(to *LinkResult, name string) {
					if l.Name == name {
						to.Packets += l.Packets
						to.Faults += l.Faults
					}
				}
				add(&up, "t0.0-t1."+string(rune('0'+spine))+">")
				add(&down, "t0.0-t1."+string(rune('0'+spine))+"<")
			}
		}
		if f := r.Flows[0]; !c.look(r, up, down) || f.Delivered != f.Size {
			t.Errorf("%q: up %+v, down %+v, flow %+v", c.fault, up, down, f)
		}
	}
}

// A random workload offers its load. The summary can be limited to one group of flows.
func TestPoissonCase(t *testing.T) {
	r := one(t, "seeds = [1]\nlimit = \"1s\"\n"+network+`
[[case]]
name = "random"
transport = "srd"
[case.poisson]
sizes = "../testdata/websearch.cdf"
load = 0.3
from = [0, 3]
to = [16, 19]
over = "2ms"
group = "g"
`)
	for _, f := range r.Flows {
		if f.Src > 3 || f.Dst < 16 || f.Dst > 19 || f.Group != "g" || f.Delivered != f.Size {
			t.Errorf("%+v", f)
		}
	}
	if s := Summarize([]*Result{r}, "g", 0); s.Flows != len(r.Flows) || s.Open != 0 || s.Flows < 2 {
		t.Errorf("%+v", s)
	}
	if s := Summarize([]*Result{r}, "h", 0); s.Flows != 0 {
		t.Errorf("%+v", s)
	}
}

// The test compares the metrics of a case with values computed by hand.
func TestSummarize(t *testing.T) {
	r := &Result{
		Flows: []FlowResult{
			{Size: 1, FCT: 10, Ideal: 10}, {Size: 1, FCT: 30, Ideal: 10}, {Size: 1, FCT: 20, Ideal: 5}, {Size: 1, Ideal: 1},
			{Size: 0}, {Size: 0},
		},
		Links:   []LinkResult{{Name: "t0.1-t1.2>", Queue: 3, Faults: 1, Peak: 7}, {Name: "h1>", Peak: 99}, {Name: "h1<", Peak: 8}},
		Sample:  10,
		Samples: [][]int64{{9, 9, 9, 9, 0, 1}, {1, 1, 1, 1, 30, 10}, {0, 0, 0, 0, 20, 20}},
		Stats:   map[string]Stats{"a": {Retransmitted: 4, Packets: 50}},
	}
	s := Summarize([]*Result{r}, "", 1)
	want := Summary{
		Runs: 1, Flows: 4, Open: 1, Mean: 20, Median: 20, P99: 30, Max: 30,
		MeanRatio: 8.0 / 3, MedianRatio: 3, P99Ratio: 4, MaxRatio: 4,
		Drops: 3, Faults: 1, Retransmitted: 4, Packets: 50, Peak: 8,
		Jain: 1600.0 / (2 * 1000), Least: 0.5, Goodput: 0.016, samples: 2,
	}
	if s != want {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
	c := Case{AtMost: map[string]float64{"max_us": 25, "drops": 3}, AtLeast: map[string]float64{"jain": 0.9}}
	if v, known := c.Missed(&s, "ideal"); len(v) != 3 || len(known) != 0 {
		t.Errorf("missed %q, want open flows, max_us and jain; known %q", v, known)
	}
	// A host model can have its own goals and known misses. Here the value of jain is worse than
	// its known miss.
	c.On = map[string]HostGoals{"daemon": {
		AtMost: map[string]float64{"max_us": 40},
		Known:  map[string]float64{"open": 1, "jain": 0.99},
	}}
	missed, known := c.Missed(&s, "daemon")
	if len(missed) != 1 || !strings.Contains(missed[0], "jain") || len(known) != 1 {
		t.Errorf("missed %q, want jain; known %q, want open flows", missed, known)
	}
}

// A case with no_worse is compared with the smallest mean and the smallest maximum of the other
// cases. If they were run on the same host model, those results are used. A case with open flows
// does not count.
func TestNoWorse(t *testing.T) {
	others := map[string]*Summary{
		SummaryName("tcp", "ideal"): {Mean: 100, Max: 300}, SummaryName("mptcp", "ideal"): {Mean: 200, Max: 200},
		SummaryName("stuck", "ideal"): {Mean: 1, Max: 1, Open: 1}, SummaryName("tcp", "daemon"): {Mean: 1000, Max: 1000},
	}
	for _, x := range []struct {
		host    string
		is      Summary
		noWorse []string
		known   map[string]float64
		missed  int
		was     int
	}{
		{"ideal", Summary{Mean: 100, Max: 200}, []string{"tcp", "mptcp", "stuck"}, nil, 0, 0},
		{"ideal", Summary{Mean: 101, Max: 200}, []string{"tcp", "mptcp"}, nil, 1, 0},
		{"ideal", Summary{Mean: 100, Max: 250}, []string{"tcp", "mptcp"}, nil, 1, 0},
		{"ideal", Summary{Mean: 100, Max: 250}, []string{"tcp"}, nil, 0, 0},
		{"ideal", Summary{Mean: 100, Max: 250}, []string{"tcp", "mptcp"}, map[string]float64{worseMax: 1.25}, 0, 1},
		{"ideal", Summary{Mean: 100, Max: 290}, []string{"tcp", "mptcp"}, map[string]float64{worseMax: 1.25}, 1, 0},
		{"daemon", Summary{Mean: 900, Max: 900}, []string{"tcp"}, nil, 0, 0},
		{"daemon", Summary{Mean: 900, Max: 900}, []string{"mptcp"}, nil, 2, 0},
		{"ideal", Summary{Mean: 100, Max: 250}, []string{"not run"}, nil, 0, 0},
	} {
		c := Case{NoWorse: x.noWorse, On: map[string]HostGoals{x.host: {Known: x.known}}}
		if missed, known := c.Worse(&x.is, x.host, others); len(missed) != x.missed || len(known) != x.was {
			t.Errorf("%+v: missed %q, known %q", x, missed, known)
		}
	}
}

// All plans can be loaded, and their results can be encoded as JSON.
func TestPlansLoad(t *testing.T) {
	all, err := filepath.Glob("plans/*.toml")
	if err != nil || len(all) == 0 {
		t.Fatalf("%d plans, %v", len(all), err)
	}
	for _, file := range all {
		if _, err := Load(filepath.Base(file), data); err != nil {
			t.Error(err)
		}
	}
	if _, err := json.Marshal(one(t, head+network+lone)); err != nil {
		t.Error(err)
	}
}

// DCTCP keeps queues short if switches mark packets. A plan with DCTCP and without marking is an
// error. Ports with a shared buffer queue less than ports with buffers of their own.
func TestBaselines(t *testing.T) {
	text := func(network, transport string) string {
		return head + "[network]\ntopology = \"../testdata/ls32.topo\"\nqueue = 400_000\n" + network +
			"[transport.srd]\nkind = \"tcp\"\nmtu = 9000\n" + transport + "[[case]]\nname = \"two\"\ntransport = \"srd\"\n" +
			"[[case.flow]]\nsrc = 1\ndst = 17\nsize = 4_000_000\n[[case.flow]]\nsrc = 2\ndst = 17\nsize = 4_000_000\n"
	}
	peak := func(network, transport string) (most int) {
		r := one(t, text(network, transport))
		for _, l := range r.Links {
			if l.Name == "h17<" {
				most = l.Peak
			}
		}
		return most
	}
	if _, err := load(text("", "algorithm = \"dctcp\"\n")); err == nil || !strings.Contains(err.Error(), "marks") {
		t.Errorf("dctcp without marks: %v", err)
	}
	if _, err := load(text("", "algorithm = \"vegas\"\n")); err == nil || !strings.Contains(err.Error(), "vegas") {
		t.Errorf("an algorithm that nobody knows: %v", err)
	}
	plain, marked, shared := peak("", ""), peak("mark = 60_000\n", "algorithm = \"dctcp\"\n"), peak("shared = 200_000\n", "")
	if plain < 300_000 || marked > plain*2/3 || shared > 110_000 {
		t.Errorf("longest queues: %d bytes, %d with dctcp, %d in a shared buffer", plain, marked, shared)
	}
}

// poisson returns the text of a random workload for a plan.
func poisson(from, to string, load int) string {
	return fmt.Sprintf("[case.poisson]\nsizes = \"../testdata/websearch.cdf\"\nfrom = %s\nto = %s\nload = %d\nover = \"1ms\"\n", from, to, load)
}

// The error of an invalid plan names the fault.
func TestPlanErrors(t *testing.T) {
	good := head + network + lone
	for _, c := range []struct{ old, new, want string }{
		{"seeds", "seed", `unknown key "seed"`},
		{"seeds = [1]", "seeds = []", "no seeds"},
		{`"1s"`, `"forever"`, "forever"},
		{`"1s"`, `"0s"`, "limit"},
		{"ls32.topo", "nothing.topo", "nothing.topo"},
		{"ls32.topo", "websearch.cdf", "websearch.cdf:2: "},
		{`kind = "srd"`, `kind = "pigeon"`, `"pigeon" is not known`},
		{"ports = 16", "ports = 0", "ports 0"},
		{"mtu = 9000", "mtu = 100", "mtu 100"},
		{"mtu = 9000", "mtu = 9000\npolicy = \"spry\"", `policy "spry" is not known`},
		{"mtu = 9000", "mtu = 9000\nflowlet_timeout = \"-1s\"", "flowlet_timeout -1s"},
		{`transport = "srd"`, `transport = "tcp"`, `transport "tcp" is not described`},
		{`transport = "srd"`, "transport = \"srd\"\nat_most = { colour = 1 }", `"colour", which is not measured`},
		{`transport = "srd"`, "transport = \"srd\"\nno_worse = [\"tcp\"]", `"tcp", which is no other case`},
		{`transport = "srd"`, "transport = \"srd\"\n[case.on.daemon]\nknown = { mean_of_best = 2 }", `"mean_of_best" on daemon, which is no goal`},
		{"[[case.flow]]\nsrc = 1\ndst = 17\nsize = 1_000_000\n", "", "no flows"},
		{"queue = 400_000", "queue = 0", "queue 0"},
		{"size = 1_000_000", "size = -1", "flow 1->17"},
		{"size = 1_000_000", "count = 1_000_000", "flow 1->17"},
		{"[[case.flow]]\nsrc = 1\ndst = 17\nsize = 1_000_000\n", poisson("[3, 1]", "[16, 19]", 1), "hosts [3 1]"},
		{"[[case.flow]]\nsrc = 1\ndst = 17\nsize = 1_000_000\n", poisson("[1, 3]", "[2, 2]", 1), "host 2 would send to itself"},
		{"[[case.flow]]\nsrc = 1\ndst = 17\nsize = 1_000_000\n", poisson("[1, 3]", "[16, 32]", 1), "hosts [16 32]"},
		{"[[case.flow]]\nsrc = 1\ndst = 17\nsize = 1_000_000\n", poisson("[1, 3]", "[16, 19]", 0), "load 0"},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%q is not in the plan", c.old)
		}
		_, err := load(strings.Replace(good, c.old, c.new, 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q for %q: %v, want %q", c.new, c.old, err, c.want)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{"dst = 17", "dst = 32", "flow 0 goes from host 1 to 32 of 32"},
		{"dst = 17", "dst = 1", "from host 1 to 1"},
		{"size = 1_000_000\n", "size = 5\n[[case.fault]]\nkind = \"flood\"\n", `no fault is called "flood"`},
		{"size = 1_000_000\n", "size = 5\n[[case.fault]]\nkind = \"dead\"\ntier = 2\n", "fault in tier 2 of 2"},
		{"size = 1_000_000\n", "size = 5\n[[case.fault]]\nkind = \"dead\"\ncables = [99]\n", "cable 99 of 32"},
	} {
		p := plan(t, strings.Replace(good, c.old, c.new, 1))
		if _, err := Run(p, &p.Cases[0], Ideal, 1, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.new, err, c.want)
		}
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
