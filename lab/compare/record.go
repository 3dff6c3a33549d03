package compare

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/srdtun/srdtun/lab"
	"github.com/srdtun/srdtun/lab/stat"
)

// Key identifies a measurement in the results file. It includes the scale, so that a record with
// another scale does not match.
type Key struct {
	Fabric   string  `json:"fabric"`
	Scenario string  `json:"scenario"`
	Workload string  `json:"workload"`
	Load     float64 `json:"load"`
	System   string  `json:"system"`
	Seed     uint64  `json:"seed"`
	Flows    int     `json:"flows"`
	Most     int64   `json:"most"`
	MTU      int     `json:"mtu"`
	Ports    int     `json:"ports"`
	// Timeout and Granularity are in nanoseconds.
	Timeout     time.Duration `json:"timeout_ns"`
	Granularity time.Duration `json:"granularity_ns"`
}

// Record holds the results of a cell. All times of a record are in microseconds.
type Record struct {
	Key
	Ended int     `json:"ended"` // number of flows that ended
	Open  int     `json:"open"`  // number of flows still open at the end; they count as ended then
	Mean  float64 `json:"mean_us"`
	P99   float64 `json:"p99_us"`
	Small float64 `json:"small_us"` // mean completion time of flows smaller than smallFlow; 0: there are none
	Large float64 `json:"large_us"` // mean completion time of flows of at least largeFlow
	// Incast is the mean goodput of requests in Gbit/s, or 0 without requests.
	Incast float64 `json:"incast_gbps"`
	Drops  uint64  `json:"drops"`  // packets dropped by queues
	Faults uint64  `json:"faults"` // packets lost at broken cables
	Resent uint64  `json:"resent"` // packets
	// Order is the cost of restoring the order of inner flows, or nil if the order was not
	// restored.
	Order *lab.OrderStats `json:"order,omitempty"`
	// Inner holds the counters of TCP inside tunnels, or nil without inner TCP.
	Inner *lab.InnerStats `json:"inner,omitempty"`
}

// These constants are the size limits of small and large flows, in bytes (CONGA, section 5.2).
const (
	smallFlow = 100_000
	largeFlow = 10_000_000
)

// Key returns the key of the cell's record.
func (c *Cell) Key() Key {
	return Key{
		Fabric: c.Fabric.Name, Scenario: c.Scenario.Name, Workload: c.Workload.Name, Load: c.Load, System: c.System.Name,
		Seed: c.Seed, Flows: c.Scale.Flows, Most: c.Scale.Most, MTU: c.Scale.MTU, Ports: c.Scale.Ports, Timeout: c.Scale.Timeout, Granularity: c.Scale.Granularity,
	}
}

// Play runs the cell and returns its record.
func (c *Cell) Play(read func(file string) ([]byte, error), progress func(share float64)) (*Record, error) {
	x := &Record{Key: c.Key()}
	if c.System.Kind == fairKind {
		p, err := c.Plan(read)
		if err != nil {
			return nil, err
		}
		flows, err := c.playFair(p)
		x.Sum(flows)
		return x, err
	}
	r, err := c.Run(read, nil, progress)
	if err != nil {
		return nil, err
	}
	x.read(r)
	return x, nil
}

// Took is the completion time of one flow. All times of a Took are in microseconds.
type Took struct {
	Size    int64
	Start   float64
	Took    float64 // if the flow did not end, the time to the end of the run
	Ended   bool
	Request bool // the flow belongs to an incast request
	Client  int
}

// read copies the counters of a run into the record.
func (x *Record) read(r *lab.Result) {
	var flows []Took
	for _, f := range r.Flows {
		t := Took{Size: f.Size, Start: f.Start, Took: f.FCT, Ended: f.FCT > 0, Request: f.Group == groupIncast, Client: f.Dst}
		if !t.Ended {
			t.Took = r.Time - f.Start
		}
		flows = append(flows, t)
	}
	x.Sum(flows)
	for _, l := range r.Links {
		x.Drops += l.Queue
		x.Faults += l.Faults
	}
	for _, t := range r.Stats {
		x.Resent += t.Retransmitted
		x.Order, x.Inner = t.Order, t.Inner
	}
}

// Sum computes the statistics of the flows' completion times. Incast requests have statistics of
// their own.
func (x *Record) Sum(flows []Took) {
	var all, small, large []float64
	var requests []request
	for _, f := range flows {
		if f.Request {
			requests = answer(requests, f.Client, f.Start, f.Size, f.Took)
			continue
		}
		if f.Ended {
			x.Ended++
		} else {
			x.Open++
		}
		all = append(all, f.Took)
		if f.Size < smallFlow {
			small = append(small, f.Took)
		}
		if f.Size >= largeFlow {
			large = append(large, f.Took)
		}
	}
	x.Mean, x.P99, x.Small, x.Large = mean(all), stat.Quantile(all, 0.99), mean(small), mean(large)
	for _, q := range requests {
		x.Incast += float64(q.bytes) * 8 / q.took * 1e-3 / float64(len(requests))
	}
}

// request is a file transfer from many servers. The slowest part determines the completion time of
// the file.
type request struct {
	client int
	at     float64
	bytes  int64
	took   float64
}

func answer(all []request, client int, at float64, size int64, took float64) []request {
	i := slices.IndexFunc(all, func(q request) bool { return q.client == client && q.at == at })
	if i < 0 {
		i, all = len(all), append(all, request{client: client, at: at})
	}
	all[i].bytes += size
	all[i].took = max(all[i].took, took)
	return all
}

func mean(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// Read parses the records in r, one on each line. Read ignores an incomplete last line, which an
// interrupted run leaves.
func Read(r io.Reader) (all []Record, err error) {
	s := bufio.NewScanner(r)
	for n := 1; s.Scan(); n++ {
		if err != nil {
			return nil, err
		}
		var x Record
		if e := json.Unmarshal(s.Bytes(), &x); e != nil || x.System == "" {
			err = fmt.Errorf("line %d is no record of a comparison (%v)", n, e)
			continue
		}
		all = append(all, x)
	}
	return all, s.Err()
}

// Find returns the record with a key, or nil if no record has the key.
func Find(all []Record, k Key) *Record {
	i := slices.IndexFunc(all, func(x Record) bool { return x.Key == k })
	if i < 0 {
		return nil
	}
	return &all[i]
}
