package main

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/lab/compare"
	"github.com/srdtun/srdtun/lab/workload"
)

var data = filepath.Join("..", "testdata")

func cell(t *testing.T, scenario string) compare.Cell {
	t.Helper()
	o := options{scenarios: scenario, workloads: "websearch", systems: "spray", loads: "0.5", flows: 400, most: 5_000_000, seeds: 1}
	v, err := o.cells()
	if err != nil || len(v) != 1 {
		t.Fatalf("%d cells, %v", len(v), err)
	}
	return v[0]
}

// Flows start one after the other, from leaf A to leaf B, and have as many bytes as the load
// requires. There are also incast requests. Each has flows from all servers to one client at the
// same time.
func TestPlan(t *testing.T) {
	plain, over, err := plan(ref(cell(t, "symmetric")), data)
	if err != nil {
		t.Fatal(err)
	}
	bytes := 0.0
	for _, f := range plain {
		if f.Src < 0 || f.Src >= perLeaf || f.Dst < perLeaf || f.Dst >= 2*perLeaf || f.Size < 1 || f.Size > 5_000_000 {
			t.Errorf("%+v", f)
		}
		bytes += float64(f.Size)
	}
	if load := bytes * 8 / over.Seconds() / (spines * spineMbit * 1e6); load < 0.4 || load > 0.6 {
		t.Errorf("load %.2f", load)
	}
	busy, _, err := plan(ref(cell(t, "incast")), data)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(busy, func(a, b workload.Flow) int { return int(a.Start - b.Start) }) {
		t.Error("flows are not in the order of their starts")
	}
	requests := map[time.Duration]int64{}
	for _, f := range busy {
		if f.ID == requestID {
			requests[f.Start] += f.Size
		}
	}
	if len(requests) != len(network.Clients) || len(busy) != len(plain)+len(network.Clients)*network.Fan {
		t.Errorf("%d flows, %d without requests, of which there are %d", len(busy), len(plain), len(requests))
	}
	for at, n := range requests {
		if n != fileBytes {
			t.Errorf("%d bytes are asked for at %v", n, at)
		}
	}
}

func ref[T any](v T) *T { return &v }

// A system that needs special switches is left out, and is an error if the command line names it.
func TestCells(t *testing.T) {
	o := options{workloads: "websearch", loads: "0.3,0.5", flows: 1, most: 1, seeds: 2}
	v, err := o.cells()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, c := range v {
		count[c.System.Name]++
	}
	if count["conga-100us"] != 0 || count["clove-ecn"] != count["spray"] || count["spray"] != 5*2*2 || count["mptcp"] != count["spray"] {
		t.Errorf("%v", count)
	}
	for _, bad := range []options{{systems: "conga-told", loads: "0.5"}, {loads: "2"}, {systems: "nobody", loads: "0.5"}} {
		if _, err := bad.cells(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

// The results of an interrupted run are kept.
func TestResults(t *testing.T) {
	name := filepath.Join(t.TempDir(), "sub", "x.jsonl")
	c := cell(t, "dead")
	for n := range 3 {
		r, err := openResults(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.all) != n {
			t.Fatalf("%d results of %d", len(r.all), n)
		}
		c.Seed = uint64(n)
		if err := r.add(&compare.Record{Key: c.Key(), Mean: float64(n)}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.file.WriteString(`{"cut`); err != nil {
			t.Fatal(err)
		}
		r.file.Close()
	}
}
