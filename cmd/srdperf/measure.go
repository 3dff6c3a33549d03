package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

// batchMost is the largest number of completions that one poll returns.
const batchMost = 64

// extent is the length of a measurement: a number of messages to each destination, or a duration.
type extent struct {
	messages int
	time     time.Duration // 0: the field messages is the length
}

// tally holds the measurements of one endpoint.
type tally struct {
	hist histogram
	took time.Duration
	each []uint64 // completed messages to each destination
}

// stream sends messages from one endpoint to several destinations.
type stream struct {
	m       mover
	to      int // number of destinations
	size    int
	depth   int // number of messages in flight to each destination
	started [][]time.Time
	free    [][]int // unused indexes of the field started, for each destination
	sent    []int
}

func newStream(m mover, to, size, depth int) *stream {
	s := &stream{m: m, to: to, size: size, depth: depth, sent: make([]int, to)}
	for range to {
		s.started = append(s.started, make([]time.Time, depth))
		free := make([]int, depth)
		for i := range free {
			free[i] = i
		}
		s.free = append(s.free, free)
	}
	return s
}

// run keeps `depth` messages in flight to each destination. If ctx ends, run() returns the
// measurements so far.
func (s *stream) run(ctx context.Context, x extent) (*tally, error) {
	t := &tally{each: make([]uint64, s.to)}
	clear(s.sent)
	begin := time.Now()
	batch := make([]outcome, batchMost)
	for open := 0; ; {
		more := ctx.Err() == nil && (x.time == 0 || time.Since(begin) < x.time)
		for i := range s.to {
			n, err := s.fill(i, more, x)
			if err != nil {
				return nil, err
			}
			open += n
		}
		if open == 0 {
			break
		}
		n, err := s.m.wait(ctx, batch)
		if ctx.Err() != nil {
			break
		}
		if err != nil {
			return nil, err
		}
		open -= n
		if err := s.done(t, batch[:n]); err != nil {
			return nil, err
		}
	}
	t.took = time.Since(begin)
	return t, nil
}

// fill sends to one destination until `depth` messages are in flight.
func (s *stream) fill(i int, more bool, x extent) (n int, err error) {
	count := len(s.free[i])
	if x.time == 0 {
		count = min(count, x.messages-s.sent[i])
	}
	if !more {
		count = 0
	}
	for n < count {
		last := len(s.free[i]) - 1
		slot := s.free[i][last]
		s.free[i] = s.free[i][:last]
		s.started[i][slot] = time.Now()
		if err := s.m.begin(i, uint64(i*s.depth+slot), n < count-1); err != nil {
			return n, err
		}
		s.sent[i]++
		n++
	}
	return n, nil
}

func (s *stream) done(t *tally, batch []outcome) error {
	now := time.Now()
	for k := range batch {
		c := &batch[k]
		i, slot := int(c.context)/s.depth, int(c.context)%s.depth
		if c.err != nil {
			return explain(c.err, s.m.key(i), s.size)
		}
		t.hist.add(now.Sub(s.started[i][slot]))
		t.each[i]++
		s.free[i] = append(s.free[i], slot)
	}
	return nil
}

// explain turns the failure of a message into an error with advice.
func explain(err error, to ep.PublicKey, size int) error {
	switch err {
	case ep.StatusRemoteInvalid:
		return fmt.Errorf("%v does not take %d bytes: start srdperf serve with --size %d", to, size, size)
	case ep.StatusUnresponsive:
		return fmt.Errorf("%v does not answer: is srdperf serve running at this address, with this key?", to)
	case ep.StatusBadDestination:
		return fmt.Errorf("%v does not measure this: srdperf tagged needs serve --tagged, and other commands need serve without it", to)
	}
	return fmt.Errorf("%v: %w", to, err)
}

// rally sends messages one at a time, and waits for the echo of each message.
func rally(ctx context.Context, e *ep.Endpoint, h *ep.Handle, size int, x extent) (*tally, error) {
	failed, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	defer watching.Wait()
	defer cancel(nil)
	watching.Go(func() { watch(failed, cancel, e, size) })
	t := &tally{each: make([]uint64, 1)}
	out, in, begin := make([]byte, size), make([]byte, size), time.Now()
	for x.time > 0 && time.Since(begin) < x.time || x.time == 0 && t.each[0] < uint64(x.messages) {
		start := time.Now()
		err := turn(failed, e, h, out, in)
		if ctx.Err() != nil {
			break // the results so far are valid
		}
		if cause := context.Cause(failed); cause != nil {
			err = cause
		}
		if err != nil {
			return nil, err
		}
		t.hist.add(time.Since(start))
		t.each[0]++
	}
	t.took = time.Since(begin)
	return t, nil
}

// turn sends one message and waits for its echo.
func turn(ctx context.Context, e *ep.Endpoint, h *ep.Handle, out, in []byte) error {
	if err := e.PostReceive(in, 0); err != nil {
		return err
	}
	if err := e.Send(ctx, h, out, ep.SendOptions{Quiet: true, Immediate: echo, HasImmediate: true}); err != nil {
		return err
	}
	var c [1]ep.Completion
	_, err := e.Receives().Wait(ctx, c[:])
	return err
}

// watch cancels a running rally when a send fails.
func watch(ctx context.Context, cancel context.CancelCauseFunc, e *ep.Endpoint, size int) {
	var c [1]ep.Completion
	if _, err := e.Sends().Wait(ctx, c[:]); err == nil {
		cancel(explain(c[0].Status, c[0].Handle.Key(), size))
	}
}
