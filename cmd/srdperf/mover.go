package main

import (
	"context"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

// outcome is the result of one request.
type outcome struct {
	context uint64
	err     error
}

// mover starts requests to destinations, and returns their results. The argument `more` means that
// another request to the same destination follows immediately.
type mover interface {
	begin(to int, context uint64, more bool) error
	wait(ctx context.Context, v []outcome) (int, error)
	key(to int) ep.PublicKey
}

// messages is a mover for plain messages, and for writes to and reads of regions.
type messages struct {
	e     *ep.Endpoint
	to    []*ep.Handle
	op    ep.Op
	data  []byte
	at    []ep.Remote // memory region of each destination, for writes and reads
	batch []ep.Completion
}

func (m *messages) begin(to int, context uint64, more bool) error {
	o := ep.SendOptions{Context: context, More: more}
	switch m.op {
	case ep.OpWrite:
		return m.e.TryWrite(m.to[to], m.at[to], m.data, o)
	case ep.OpRead:
		return m.e.TryRead(m.to[to], m.at[to], m.data, o)
	}
	return m.e.TrySend(m.to[to], m.data, o)
}

func (m *messages) wait(ctx context.Context, v []outcome) (int, error) {
	n, err := m.e.Sends().Wait(ctx, m.batch[:len(v)])
	for i := range n {
		v[i] = outcome{m.batch[i].Context, m.batch[i].Err()}
	}
	return n, err
}

func (m *messages) key(to int) ep.PublicKey { return m.to[to].Key() }

// tagged is a mover for tagged messages.
type tagged struct {
	m     *msg.Endpoint
	to    []*msg.Handle
	data  []byte
	o     msg.Options
	batch []msg.Completion
}

func (m *tagged) begin(to int, context uint64, more bool) error {
	o := m.o
	o.Context, o.More = context, more
	return m.to[to].TrySend(uint64(to), m.data, o)
}

func (m *tagged) wait(ctx context.Context, v []outcome) (int, error) {
	n, err := m.m.Sends().Wait(ctx, m.batch[:len(v)])
	for i := range n {
		v[i] = outcome{m.batch[i].Context, m.batch[i].Err}
	}
	return n, err
}

func (m *tagged) key(to int) ep.PublicKey { return m.to[to].Key() }
