package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

// serveTagged accepts tagged messages until ctx ends.
func serveTagged(ctx context.Context, f serveFlags, cfg ep.Config, size int, out, note io.Writer) error {
	m, err := msg.Open(msg.Config{Endpoint: cfg})
	if err != nil {
		return err
	}
	defer m.Close()
	if err := f.allow(m.PublicKey(), m.Allow); err != nil {
		return err
	}
	any := msg.Match{Ignore: ^uint64(0)}
	for range f.receives {
		if err := m.Receive(any, make([]byte, size), 0); err != nil {
			return err
		}
	}
	addrs, err := f.addresses(m.Port())
	if err != nil {
		return err
	}
	fmt.Fprintln(out, target{m.PublicKey(), addrs})
	var messages, bytes, cut uint64
	for batch := make([]msg.Completion, batchMost); ; {
		n, err := m.Receives().Wait(ctx, batch)
		if errors.Is(err, context.Canceled) {
			fmt.Fprintf(note, "%d messages, %d bytes, %d longer than --size\n", messages, bytes, cut)
			return nil
		}
		if err != nil {
			return err
		}
		for i := range batch[:n] {
			c := &batch[i]
			messages++
			bytes += uint64(len(c.Data))
			if errors.Is(c.Err, msg.ErrTruncated) {
				cut++
			}
			if err := m.Receive(any, c.Data[:cap(c.Data)], 0); err != nil {
				return err
			}
		}
	}
}

// openTagged opens a client's endpoint for tagged messages.
func (f *clientFlags) openTagged(cfg ep.Config, to []target) (s sender, err error) {
	if s.m, err = msg.Open(msg.Config{Endpoint: cfg}); err != nil {
		return s, err
	}
	for _, t := range to {
		h, err := s.m.Handle(t.key, t.addrs...)
		if err != nil {
			s.m.Close()
			return s, err
		}
		s.tagged = append(s.tagged, h)
	}
	return s, nil
}
