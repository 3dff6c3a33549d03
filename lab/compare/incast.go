package compare

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/srdtun/srdtun/lab"
)

// fans lists the numbers of servers that answer a request, as in figure 13 of CONGA's paper.
var fans = []int{4, 8, 16, 31}

const (
	// requests is the number of requests in a run, which start every requestEvery. The interval
	// requestEvery is long enough for one or two timeouts of 200 ms.
	requests     = 5
	requestEvery = time.Second
)

// Incast is an experiment in which one client requests a file of 10 MB. Several servers send equal
// parts of the file at once on an otherwise empty network (CONGA, section 5.4). The servers are
// below other leaves than the client, or below any leaf in a network of many leaves.
type Incast struct {
	System System
	Fabric Fabric
	Fan    int
	Seed   uint64
	Scale  Scale
}

// IncastCells returns every combination of a number of servers and a system.
func (m *Matrix) IncastCells() (v []Incast) {
	for _, f := range m.Fabrics {
		for _, fan := range fans {
			for seed := range m.Seeds {
				for _, x := range m.Systems {
					v = append(v, Incast{System: x, Fabric: f, Fan: fan, Seed: uint64(seed + 1), Scale: m.Scale})
				}
			}
		}
	}
	return v
}

// Label returns a readable name of the incast.
func (i *Incast) Label() string {
	return fmt.Sprintf("%s, %d servers to one, %s", i.Fabric.Name, i.Fan, i.System.Name)
}

// Key returns the key of the incast's record, in which the load is the number of servers.
func (i *Incast) Key() Key {
	return Key{
		Fabric: i.Fabric.Name, Scenario: "requests", Load: float64(i.Fan), System: i.System.Name,
		Seed: i.Seed, MTU: i.Scale.MTU, Ports: i.Scale.Ports, Timeout: i.Scale.Timeout, Granularity: i.Scale.Granularity,
	}
}

// Play runs the incast and returns its record.
func (i *Incast) Play(read func(string) ([]byte, error), progress func(float64)) (*Record, error) {
	c := Cell{System: i.System, Fabric: i.Fabric, Seed: i.Seed, Scale: i.Scale}
	var b strings.Builder
	c.head(&b, requests*requestEvery+patience)
	for k := range requests {
		i.Fabric.request(&b, i.Fabric.Clients[k%len(i.Fabric.Clients)], i.Fan, time.Duration(k)*requestEvery)
	}
	p, err := load(b.String(), read)
	if err != nil {
		return nil, err
	}
	r, err := lab.Run(p, &p.Cases[0], lab.Ideal, i.Seed, progress)
	if err != nil {
		return nil, err
	}
	x := &Record{Key: i.Key()}
	x.read(r)
	return x, nil
}

// IncastTable writes the goodput of requests as a table, with a row for each number of servers.
func IncastTable(w io.Writer, all []*Group) {
	for _, s := range sections(all) {
		systems := names(s)
		fmt.Fprintf(w, "%s: goodput of requests for 10 MB, Gbit/s\n\n| servers | %s |\n|---|%s\n",
			s[0].Fabric, strings.Join(systems, " | "), strings.Repeat("---|", len(systems)))
		for _, g := range s {
			fmt.Fprintf(w, "| %.0f |", g.Load)
			for _, n := range systems {
				x, _ := g.Of(n)
				fmt.Fprintf(w, " %.2f |", x.Incast)
			}
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w)
	}
}
