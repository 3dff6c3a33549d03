package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
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
	// fileBytes is the size in bytes of the file that an incast transfers. The requested file has a
	// tenth of the testbed's size, because a transfer takes a hundred times as long.
	fileBytes = 1_000_000
	// readSize is the size in bytes of a receiver's reads.
	readSize = 256 << 10
	// tagSize is the size in bytes of the flow number that precedes the data.
	tagSize = 8
)

// sink accepts connections on a server, and records when each flow's last byte arrived.
type sink struct {
	l net.Listener
}

// run is a measurement in progress, with the state of its flows.
type run struct {
	mu    sync.Mutex
	began []time.Time
	ended []time.Time
	left  sync.WaitGroup
	conns map[net.Conn]bool
	over  bool
}

// current is the measurement in progress, if any. Each flow carries the measurement's number, so
// that flows of earlier measurements are ignored.
var current struct {
	sync.Mutex
	r  *run
	no uint32
}

// listen starts a sink on each server below leaf B.
func (s *site) listen() error {
	for i := perLeaf; i < 2*perLeaf; i++ {
		var l net.Listener
		err := s.server(i).Do(func() (err error) {
			c := net.ListenConfig{}
			c.SetMultipathTCP(true)
			l, err = c.Listen(context.Background(), "tcp4", fmt.Sprintf(":%d", sinkPort))
			return err
		})
		if err != nil {
			return err
		}
		k := &sink{l}
		s.sinks = append(s.sinks, k)
		go k.accept()
	}
	return nil
}

func (k *sink) close() { k.l.Close() }

func (k *sink) accept() {
	for {
		c, err := k.l.Accept()
		if err != nil {
			return
		}
		go take(c)
	}
}

// take reads a flow until the flow ends.
func take(c net.Conn) {
	defer c.Close()
	var tag [tagSize]byte
	if _, err := io.ReadFull(c, tag[:]); err != nil {
		return
	}
	buf := make([]byte, readSize)
	for {
		if _, err := c.Read(buf); err == io.EOF {
			break
		} else if err != nil {
			return
		}
	}
	now := time.Now()
	current.Lock()
	r, no := current.r, current.no
	current.Unlock()
	if binary.BigEndian.Uint32(tag[:]) != no {
		return
	}
	r.end(int(binary.BigEndian.Uint32(tag[4:])), now)
}

func (r *run) end(i int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over && r.ended[i].IsZero() {
		r.ended[i] = now
		r.left.Done()
	}
}

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
	r := &run{began: make([]time.Time, len(flows)), ended: make([]time.Time, len(flows)), conns: map[net.Conn]bool{}}
	current.Lock()
	current.r = r
	current.no++
	no := current.no
	current.Unlock()
	r.left.Add(len(flows))
	before, err := meter.ReadCPU()
	if err != nil {
		return nil, err
	}
	zero := time.Now()
	for i, f := range flows {
		time.Sleep(time.Until(zero.Add(f.Start)))
		r.began[i] = time.Now()
		go r.send(no, i, s.server(f.Src), to(f.Dst), f.Size, mptcp)
	}
	r.wait(time.Until(zero.Add(over + patience)))
	after, err := meter.ReadCPU()
	if err != nil {
		return nil, err
	}
	s.busy = after.Since(before).Busy / time.Since(zero).Seconds() / float64(runtime.NumCPU())
	return r.record(c, flows), nil
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

// send sends one flow of size bytes.
func (r *run) send(no uint32, i int, from *fabric.Host, to netip.Addr, size int64, mptcp bool) {
	var c net.Conn
	err := from.Do(func() (err error) {
		d := net.Dialer{Timeout: patience}
		d.SetMultipathTCP(mptcp)
		c, err = d.Dial("tcp4", netip.AddrPortFrom(to, sinkPort).String())
		return err
	})
	if err != nil {
		return // it did not end
	}
	if !r.hold(c) {
		return
	}
	defer c.Close()
	b := make([]byte, tagSize, tagSize+min(size, readSize))
	binary.BigEndian.PutUint32(b, no)
	binary.BigEndian.PutUint32(b[4:], uint32(i))
	b = b[:cap(b)]
	for sent := int64(0); sent < size+tagSize; {
		n, err := c.Write(b[:min(int64(len(b)), size+tagSize-sent)])
		if err != nil {
			return
		}
		if sent == 0 {
			clear(b[:tagSize])
		}
		sent += int64(n)
	}
	_ = c.(*net.TCPConn).CloseWrite()
	_, _ = io.Copy(io.Discard, c) // until the receiver has it all
}

// hold stores a connection, so that the end of the run can close it.
func (r *run) hold(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		c.Close()
		return false
	}
	r.conns[c] = true
	return true
}

// wait waits until all flows have ended, at most for d, and then closes the open ones.
func (r *run) wait(d time.Duration) {
	all := make(chan struct{})
	go func() { r.left.Wait(); close(all) }()
	select {
	case <-all:
	case <-time.After(d):
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	for c := range r.conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	for _, t := range r.ended {
		if t.IsZero() {
			r.left.Done() // nobody waits for them any more
		}
	}
}

// record computes the record of a finished run.
func (r *run) record(c *compare.Cell, flows []workload.Flow) *compare.Record {
	now := time.Now()
	var v []compare.Took
	r.mu.Lock()
	defer r.mu.Unlock()
	for i, f := range flows {
		t := compare.Took{Size: f.Size, Start: micros(f.Start), Client: f.Dst, Request: f.ID == requestID, Ended: !r.ended[i].IsZero()}
		end := r.ended[i]
		if !t.Ended {
			end = now
		}
		t.Took = micros(end.Sub(r.began[i]))
		v = append(v, t)
	}
	x := &compare.Record{Key: c.Key()}
	x.Sum(v)
	return x
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
