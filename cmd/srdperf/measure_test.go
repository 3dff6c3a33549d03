package main

import (
	"context"
	"errors"
	"testing"

	"github.com/srdtun/srdtun/srd/ep"
)

// waiter is a mover that completes all sent messages. It fails the test if it is polled while a
// message is held back.
type waiter struct {
	t      *testing.T
	open   []uint64
	more   bool // argument `more` of the last message
	trains int
	waits  int
}

func (m *waiter) begin(_ int, context uint64, more bool) error {
	m.open, m.more = append(m.open, context), more
	if !more {
		m.trains++
	}
	return nil
}

func (m *waiter) wait(_ context.Context, v []outcome) (int, error) {
	if m.waits++; m.more {
		m.t.Error("the last message waits for another that does not come")
	}
	if len(m.open) == 0 {
		return 0, errors.New("nothing is under way")
	}
	n := min(len(v), len(m.open))
	for i := range n {
		v[i] = outcome{context: m.open[i]}
	}
	m.open = m.open[n:]
	return n, nil
}

func (m *waiter) key(int) ep.PublicKey { return ep.PublicKey{} }

// Messages that are started together are sent together, and none of them waits for ever.
func TestMessagesLeaveTogether(t *testing.T) {
	const depth, messages = 16, 100
	m := &waiter{t: t}
	tally, err := newStream(m, 1, 64, depth).run(t.Context(), extent{messages: messages})
	if err != nil || tally.each[0] != messages {
		t.Fatalf("%d messages, %v", tally.each[0], err)
	}
	if m.trains > m.waits {
		t.Errorf("%d messages left in %d trains, with %d waits between them", messages, m.trains, m.waits)
	}
}
