package main

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/lab/compare"
	"github.com/srdtun/srdtun/lab/workload"
)

const (
	sinkPort = 5001
	// patience is the time that flows have to complete after the last arrival.
	patience = 4 * time.Second
	// settle is the time that queues have to drain after the last measurement.
	settle = 300 * time.Millisecond
	// fileBytes is the size in bytes of the file that an incast transfers. The file has a tenth of
	// the testbed's size, because here each byte takes a hundred times as long.
	fileBytes = 1_000_000
)

// measure sends the flows of a cell and returns its record.
func (s *site) measure(c *compare.Cell, data string) (x *compare.Record, err error) {
	flows, over, err := plan(c, data)
	if err != nil {
		return nil, err
	}
	to, mptcp, err := s.use(&c.System)
	if err != nil {
		return nil, err
	}
	time.Sleep(settle)
	undo, err := s.breaks(c.Scenario.Name, over/4)
	defer func() { err = errors.Join(err, undo()) }()
	if err != nil {
		return nil, err
	}
	var under []*fabric.Host // hosts of leaf B
	for i := range perLeaf {
		under = append(under, s.server(perLeaf+i))
	}
	sink, err := meter.NewSink(sinkPort, len(flows), under...)
	if err != nil {
		return nil, err
	}
	before, err := meter.ReadCPU()
	if err != nil {
		return nil, errors.Join(err, sink.Close())
	}
	began := make([]time.Time, len(flows))
	var senders sync.WaitGroup
	zero := time.Now()
	for i, f := range flows {
		time.Sleep(time.Until(zero.Add(f.Start)))
		began[i] = time.Now()
		senders.Go(func() {
			c, err := meter.Connect(s.server(f.Src), netip.AddrPortFrom(to(f.Dst), sinkPort), mptcp, patience)
			if err != nil {
				return // the flow did not end
			}
			defer c.Close()
			meter.Send(c, i, f.Size)
		})
	}
	sink.Wait(len(flows), time.Until(zero.Add(over+patience)))
	over = time.Since(zero)
	after, err := meter.ReadCPU()
	err = errors.Join(err, sink.Close())
	senders.Wait() // no sender may still run when the next sink starts
	if err != nil {
		return nil, err
	}
	s.busy = after.Since(before).Busy / over.Seconds() / float64(runtime.NumCPU())
	return record(c, flows, began, zero.Add(over), sink), nil
}

// plan draws the flows of a cell, sorted by start time.
func plan(c *compare.Cell, data string) (flows []workload.Flow, over time.Duration, err error) {
	text, err := os.ReadFile(filepath.Join(data, c.Workload.File))
	if err != nil {
		return nil, 0, err
	}
	sizes, err := workload.ParseSizes(c.Workload.File, string(text))
	if err != nil {
		return nil, 0, err
	}
	sizes = sizes.Cut(c.Scale.Most)
	over = c.Over(sizes)
	var from, to []int
	for i := range perLeaf {
		from, to = append(from, i), append(to, perLeaf+i)
	}
	const seed = 0x5eed
	flows = workload.Poisson(rand.New(rand.NewPCG(c.Seed, seed)), from, to, sizes, c.Load, c.Fabric.Gbit*1e9/8, over)
	if c.Scenario.Incast {
		flows = withRequests(flows, &c.Fabric, over)
	}
	return flows, over, nil
}

// withRequests adds the flows of incast requests.
func withRequests(flows []workload.Flow, f *compare.Fabric, over time.Duration) (v []workload.Flow) {
	next := 0
	for i, client := range f.Clients {
		at := over * time.Duration(2*i+1) / time.Duration(2*len(f.Clients))
		for ; next < len(flows) && flows[next].Start < at; next++ {
			v = append(v, flows[next])
		}
		for src := range f.Fan {
			v = append(v, workload.Flow{ID: requestID, Src: src, Dst: client, Size: fileBytes / int64(f.Fan), Start: at})
		}
	}
	return append(v, flows[next:]...)
}

// requestID is the ID of all flows that belong to incast requests. Flows of a workload have IDs
// from 1 on.
const requestID = 0

// record computes the record of a finished measurement. A flow that has not ended counts as ended
// at the time `now`.
func record(c *compare.Cell, flows []workload.Flow, began []time.Time, now time.Time, sink *meter.Sink) *compare.Record {
	var v []compare.Took
	for i, f := range flows {
		end := sink.Ended(i)
		t := compare.Took{Size: f.Size, Start: micros(f.Start), Client: f.Dst, Request: f.ID == requestID, Ended: !end.IsZero()}
		if !t.Ended {
			end = now
		}
		t.Took = micros(end.Sub(began[i]))
		v = append(v, t)
	}
	x := &compare.Record{Key: c.Key()}
	x.Sum(v)
	return x
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
