package compare

import (
	"fmt"
	"strings"
	"time"

	"github.com/srdtun/srdtun/lab"
)

const (
	// requests is the number of requests in a run. One starts every requestEvery, which is long
	// enough for one or two timeouts of 200 ms.
	requests     = 5
	requestEvery = time.Second
)

// Incast is an experiment in which one client requests a file of 10 MB. Several servers send equal
// parts of the file at once on an otherwise empty network (CONGA, section 5.4). The servers are not
// below the client's leaf, except in a network of many leaves.
type Incast struct {
	System System
	Fabric Fabric
	Fan    int
	Seed   uint64
	Scale  Scale
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
