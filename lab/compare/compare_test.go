package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/lab/workload"
)

func read(file string) ([]byte, error) { return os.ReadFile(filepath.Join("..", "testdata", file)) }

// small returns a matrix that takes only a moment to run.
func small(t *testing.T) *Matrix {
	t.Helper()
	m := &Matrix{Loads: []float64{0.4}, Seeds: 1, Scale: Scale{Flows: 12, Most: 200_000, MTU: 9000, Ports: 8, Granularity: time.Microsecond}}
	var err [4]error
	m.Fabrics, err[0] = Fabrics(nil)
	m.Scenarios, err[1] = Scenarios(nil)
	m.Workloads, err[2] = Workloads([]string{"websearch"})
	m.Systems, err[3] = Systems([]string{"spray", "conga-told", "letflow", "tcp", "mptcp"})
	for _, e := range err {
		must(t, e)
	}
	return m
}

// With every system, all flows complete in every scenario. Exceptions are TCP and MPTCP if a cable
// is dead and routing does not know it. All systems have the same flows.
func TestEverySystemInEveryScenario(t *testing.T) {
	m := small(t)
	flows := map[string]int{}
	for _, c := range m.Cells() {
		r, err := c.Play(read, nil)
		must(t, err)
		if r.Key != c.Key() || r.Mean <= 0 || r.P99 < r.Mean || r.Ended+r.Open == 0 {
			t.Errorf("%s: %+v", c.Label(), r)
		}
		if r.Open > 0 && (c.Scenario.Name != "dead" || c.System.Kind != "tcp") {
			t.Errorf("%s: %d flows did not end", c.Label(), r.Open)
		}
		if c.Scenario.Incast != (r.Incast > 0) {
			t.Errorf("%s: requests at %v Gbit/s", c.Label(), r.Incast)
		}
		if broken := c.Scenario.Name == "dead"; broken != (r.Faults > 0) {
			t.Errorf("%s: %d packets met a dead cable", c.Label(), r.Faults)
		}
		n := r.Ended + r.Open
		if old, ok := flows[c.Scenario.Name]; ok && old != n {
			t.Errorf("%s: %d flows, another system has %d", c.Label(), n, old)
		}
		flows[c.Scenario.Name] = n
	}
}

// Policies that choose paths for flows or flowlets do not need to restore order. Even with a cable
// out of service, hardly any packet waits for an earlier one, and flows are as fast without
// restored order. The policy spray needs it. Many times as many of its packets wait, and without
// restored order flows take longer.
func TestFlowletsStayInOrder(t *testing.T) {
	m := small(t)
	m.Scale = Scale{Flows: 60, Most: 3_000_000, MTU: 9000, Ports: 32, Granularity: 20 * time.Microsecond}
	m.Loads = []float64{0.7}
	var err error
	if m.Scenarios, err = Scenarios([]string{"failed"}); err != nil {
		t.Fatal(err)
	}
	names := []string{"spray", "conga", "conga-100us", "letflow-100us", "ecmp", "conga-unordered", "spray-unordered"}
	if m.Systems, err = Systems(names); err != nil {
		t.Fatal(err)
	}
	all := map[string]*Record{}
	for _, c := range m.Cells() {
		if all[c.System.Name], err = c.Play(read, nil); err != nil {
			t.Fatal(err)
		}
	}
	held := func(name string) float64 { return float64(all[name].Order.Held) / float64(all[name].Order.Delivered) }
	most := 0.0
	for _, name := range names[1:5] {
		if held(name) > 1e-3 {
			t.Errorf("%s: %.4f of the packets wait for others", name, held(name))
		}
		most = max(most, held(name))
	}
	if a, b := all["conga"].Mean, all["conga-unordered"].Mean; b > 1.01*a {
		t.Errorf("conga takes %.0f us, without order %.0f", a, b)
	}
	if a, b := all["spray"].Mean, all["spray-unordered"].Mean; held("spray") < 4*most || b <= a {
		t.Errorf("spray holds %.4f of the packets (a flowlet policy at most %.4f), takes %.0f us, without order %.0f", held("spray"), most, a, b)
	}
}

// The flows of a cell offer approximately the cell's load.
func TestLoad(t *testing.T) {
	for _, f := range fabrics {
		for _, w := range workloads {
			c := Cell{System: systems[0], Fabric: f, Scenario: scenarios[0], Workload: w, Load: 0.6, Seed: 1,
				Scale: Scale{Flows: 20_000, Most: 1_000_000, MTU: 1500, Ports: 1}}
			p, err := c.Plan(read)
			must(t, err)
			b, _ := read(w.File)
			s, err := workload.ParseSizes(w.File, string(b))
			must(t, err)
			s = s.Cut(c.Scale.Most)
			over := c.Over(s).Seconds()
			want := float64(c.Scale.Flows) / float64(w.Fewer)
			if got := c.Load * f.Gbit * 1e9 / 8 / s.Mean() * over; math.Abs(got/want-1) > 0.01 {
				t.Errorf("%s %s: %v flows in %v s, want %v", f.Name, w.Name, got, over, want)
			}
			x := p.Cases[0].Poisson
			if offered := x.Load * float64(x.From[1]-x.From[0]+1) * 10; math.Abs(offered/(c.Load*f.Gbit)-1) > 0.01 {
				t.Errorf("%s: the plan offers %v Gbit/s, want %v", f.Name, offered, c.Load*f.Gbit)
			}
		}
	}
}

// If an incast has no more servers than a leaf, all of them answer.
func TestIncast(t *testing.T) {
	m := small(t)
	var last float64
	for _, fan := range []int{4, 8, 16, 31} {
		c := Incast{System: m.Systems[0], Fabric: m.Fabrics[0], Fan: fan, Seed: 1, Scale: m.Scale}
		r, err := c.Play(read, nil)
		must(t, err)
		if r.Ended+r.Open != 0 || r.Incast < 3 || r.Incast > 10 {
			t.Errorf("%s: %+v", c.Label(), r)
		}
		if r.Incast == last {
			t.Errorf("%s: as many Gbit/s as with fewer servers", c.Label())
		}
		last = r.Incast
	}
}

// records returns the records of two systems in two cells. The second cell has two seeds.
func records() []Record {
	r := func(load float64, system string, seed uint64, mean, p99 float64, open int) Record {
		return Record{Key: Key{Fabric: "f", Scenario: "s", Workload: "w", Load: load, System: system, Seed: seed}, Mean: mean, P99: p99, Open: open}
	}
	return []Record{
		r(0.5, "a", 1, 100, 900, 0), r(0.5, "b", 1, 150, 600, 0),
		r(0.3, "a", 1, 100, 100, 0), r(0.3, "a", 2, 300, 300, 0), r(0.3, "b", 1, 400, 700, 1), r(0.3, "b", 2, 400, 900, 0),
	}
}

func TestGroups(t *testing.T) {
	g := Groups(records())
	if len(g) != 2 {
		t.Fatalf("%d groups", len(g))
	}
	a, _ := g[0].Of("a")
	b, _ := g[0].Of("b")
	if a.Mean != 1 || a.P99 != 1.5 || b.Mean != 1.5 || b.P99 != 1 {
		t.Errorf("%+v %+v", a, b)
	}
	a, _ = g[1].Of("a")
	b, _ = g[1].Of("b")
	if a.Us != 200 || a.Mean != 1 || b.Mean != 2 || b.P99 != 4 || b.Open != 1 {
		t.Errorf("%+v %+v", a, b)
	}
	if _, ok := g[0].Of("c"); ok {
		t.Error("a system that was not there")
	}
	where, of := Behind(g, "a", 0.05)
	if of != 2 || len(where) != 1 || !strings.Contains(where[0], "99th percentile 1.50 (b)") {
		t.Errorf("%d, %q", of, where)
	}
	var table bytes.Buffer
	Table(&table, g)
	low, high := strings.Index(table.String(), "| 30 % | 0.2 / 0.2 | 1.00 / 1.00 | >2.00 / >4.00 |"), strings.Index(table.String(), "| 50 % | 0.1 / 0.6 | 1.00 / 1.50 | 1.50 / 1.00 |")
	if low < 0 || high < low {
		t.Errorf("table\n%s", table.String())
	}
	h := Overalls(g)[0]
	if len(h.Columns) != 1 || math.Abs(h.Ratios[1][0]-math.Sqrt(3)) > 1e-9 || h.Ratios[0][0] != 1 {
		t.Errorf("%+v", h)
	}
	table.Reset()
	if OverallTable(&table, g); !strings.Contains(table.String(), "\n| b | 1.73 |\n") {
		t.Errorf("table\n%s", table.String())
	}
}

// Columns of one workload are side by side, and a missing measurement is 0.
func TestOverallColumns(t *testing.T) {
	all := []Record{
		{Key: Key{Scenario: "x", Workload: "u", System: "a"}, Mean: 1}, {Key: Key{Scenario: "x", Workload: "v", System: "a"}, Mean: 1},
		{Key: Key{Scenario: "y", Workload: "u", System: "a"}, Mean: 1}, {Key: Key{Scenario: "y", Workload: "u", System: "b"}, Mean: 2},
	}
	h := Overalls(Groups(all))[0]
	if !slices.Equal(h.Columns, []Column{{"x", "u"}, {"y", "u"}, {"x", "v"}}) || !slices.Equal(h.Ratios[1], []float64{0, 2, 0}) {
		t.Errorf("%+v", h)
	}
	if got := ratioText(0) + ratioText(9.5) + ratioText(37.2); got != "-9.5037" {
		t.Error(got)
	}
}

// Systems are in the order of their first record. The records of a system keep their order.
func TestBySystem(t *testing.T) {
	v := bySystem(records(), func(r *Record) bool { return r.Load == 0.3 && r.Mean > 100 })
	if len(v) != 2 || len(v[0]) != 1 || v[0][0].System != "a" || len(v[1]) != 2 || v[1][0].P99 != 700 || v[1][1].P99 != 900 {
		t.Errorf("%+v", v)
	}
}

// The table adds up the order counters of all runs of a system. Systems without a tunnel have no
// row.
func TestOrderTable(t *testing.T) {
	v := records()[:3]
	v[0].Order = &lab.OrderStats{Delivered: 1000, Held: 10, MostHeld: 4, MostBytes: 9000, Longest: 70}
	v[2].Order = &lab.OrderStats{Delivered: 3000, Held: 90, MostHeld: 3, MostBytes: 19000, Longest: 60}
	var b bytes.Buffer
	OrderTable(&b, v)
	if !strings.Contains(b.String(), "| a | 2 | 2.500 % | 3.00 % | 4 | 19 | 0.07 |\n") || strings.Contains(b.String(), "| b |") {
		t.Error(b.String())
	}
	b.Reset()
	if OrderTable(&b, records()); b.Len() > 0 {
		t.Errorf("a table of nothing: %s", b.String())
	}
}

// The table adds up the inner counters of all runs of a system. Systems without a tunnel have no
// row.
func TestInnerTable(t *testing.T) {
	v := records()[:3]
	v[0].Inner = &lab.InnerStats{Retransmitted: 12, Timeouts: 2, Queue: 3, Dropped: 7}
	v[2].Inner = &lab.InnerStats{Retransmitted: 5, Queue: 1, Dropped: 4}
	var b bytes.Buffer
	InnerTable(&b, v)
	if !strings.Contains(b.String(), "| a | 2 | 1 | 2 | 17 | 4 | 11 |\n") || strings.Contains(b.String(), "| b |") {
		t.Error(b.String())
	}
	b.Reset()
	if InnerTable(&b, records()); b.Len() > 0 {
		t.Errorf("a table of nothing: %s", b.String())
	}
}

// The minimum timeout of a system applies to TCP, inside a tunnel or not.
func TestShortTimeouts(t *testing.T) {
	for name, want := range map[string]time.Duration{"spray": 0, "spray-10ms": shortRTO, "conga-100us-10ms": shortRTO, "tcp": 0, "tcp-10ms": shortRTO} {
		systems, err := Systems([]string{name})
		must(t, err)
		fabrics, _ := Fabrics([]string{"conga64-leaf"})
		workloads, _ := Workloads(nil)
		c := Cell{System: systems[0], Fabric: fabrics[0], Scenario: scenarios[0], Workload: workloads[0], Load: 0.5, Seed: 1, Scale: Scale{Flows: 10, MTU: 9000, Ports: 8}}
		p, err := c.Plan(read)
		must(t, err)
		if got := p.Transports["it"].MinRTO.Duration; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// Records are read as they were written. Only the last line may be incomplete.
func TestRead(t *testing.T) {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	for _, r := range records() {
		must(t, w.Encode(&r))
	}
	all, err := Read(strings.NewReader(b.String() + `{"fabric":"f","sys`))
	if err != nil || len(all) != len(records()) {
		t.Fatalf("%d records, %v", len(all), err)
	}
	if r := Find(all, records()[3].Key); r == nil || r.Mean != 300 {
		t.Errorf("%+v", r)
	}
	if r := Find(all, Key{}); r != nil {
		t.Errorf("%+v", r)
	}
	if _, err := Read(strings.NewReader("{\"fabric\":\"f\",\"sys\n" + b.String())); err == nil {
		t.Error("a broken line in the middle is taken")
	}
}

// The time of a request is that of its slowest answer. The flows of requests do not count among the
// other flows.
func TestSum(t *testing.T) {
	var x Record
	x.Sum([]Took{
		{Size: 1000, Took: 10, Ended: true}, {Size: 20_000_000, Took: 30_000, Ended: true}, {Size: 1000, Took: 90},
		{Size: 5_000_000, Start: 7, Took: 8000, Request: true, Client: 1}, {Size: 5_000_000, Start: 7, Took: 4000, Request: true, Client: 1},
		{Size: 10_000_000, Start: 9, Took: 16_000, Request: true, Client: 1},
	})
	if x.Ended != 2 || x.Open != 1 || math.Abs(x.Mean-30100.0/3) > 1e-6 || x.P99 != 30_000 || x.Small != 50 || x.Large != 30_000 {
		t.Errorf("%+v", x)
	}
	if math.Abs(x.Incast-7.5) > 1e-9 { // 10 and 5 Gbit/s
		t.Errorf("requests at %v Gbit/s", x.Incast)
	}
}

func TestNames(t *testing.T) {
	if v, err := Systems(nil); err != nil || v[0].Name != "spray" || len(v) != 13 {
		t.Errorf("%v, %v", v, err)
	}
	if v, err := Systems([]string{"mptcp", "conga-told"}); err != nil || len(v) != 2 {
		t.Errorf("%v, %v", v, err)
	}
	if _, err := Scenarios([]string{"sunshine"}); err == nil || !strings.Contains(err.Error(), "quarter") {
		t.Errorf("%v", err)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
