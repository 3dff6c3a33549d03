package ep_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/srdtun/srdtun/srd/ep"
)

// Messages with More are also sent if the program cannot send another one, because the
// queue is full.
func TestFullQueueHoldsNothingBack(t *testing.T) {
	ctx := background(t)
	const depth = 4
	for name, then := range map[string]func(*ep.Endpoint, *ep.Handle) error{
		"Send waits":    func(e *ep.Endpoint, h *ep.Handle) error { return e.Send(ctx, h, []byte("last"), ep.SendOptions{}) },
		"TrySend fails": func(e *ep.Endpoint, h *ep.Handle) error { return full(e.TrySend(h, []byte("last"), ep.SendOptions{})) },
		"Push":          func(_ *ep.Endpoint, h *ep.Handle) error { h.Push(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			a, b := endpoint(t, ep.Config{SendDepth: depth}), endpoint(t, ep.Config{})
			post(t, b, 3*depth, 10)
			h := joined(t, a, b)
			for range depth {
				must(t, a.Send(ctx, h, []byte("more"), ep.SendOptions{More: true}))
			}
			polled := make(chan struct{})
			go func() {
				defer close(polled)
				for range depth {
					if c := next(t, ctx, a.Sends()); c.Status != ep.StatusOK {
						t.Errorf("got %v", c.Status)
					}
				}
			}()
			if err := then(a, h); err != nil {
				t.Error(err)
			}
			<-polled
		})
	}
}

// full returns nil if err is ErrFull.
func full(err error) error {
	if err == ep.ErrFull {
		return nil
	}
	return fmt.Errorf("got %v, want ErrFull", err)
}

// A message for which Confirm waits, and one that cannot be sent, also end the delay of
// earlier messages.
func TestWrongLastMessageHoldsNothingBack(t *testing.T) {
	ctx := background(t)
	a, b := endpoint(t, ep.Config{}), endpoint(t, ep.Config{})
	post(t, b, 3, 10)
	h := joined(t, a, b)
	must(t, a.Send(ctx, h, []byte("more"), ep.SendOptions{More: true}))
	if err := a.Send(ctx, h, make([]byte, ep.MaxMessage+1), ep.SendOptions{}); err != ep.ErrTooLarge {
		t.Errorf("got %v", err)
	}
	if c := next(t, ctx, a.Sends()); c.Status != ep.StatusOK {
		t.Errorf("got %v", c.Status)
	}
	if err := a.Confirm(ctx, h, []byte("now"), ep.SendOptions{More: true}); err != nil {
		t.Errorf("a message that is waited for: %v", err)
	}
}

// Drain returns after the last request has completed. If it gives up, all slots are free again.
func TestDrain(t *testing.T) {
	ctx := background(t)
	const depth = 4
	a, b := endpoint(t, ep.Config{SendDepth: depth}), endpoint(t, ep.Config{})
	h := joined(t, a, b)
	must(t, h.Drain(ctx))
	quiet := ep.SendOptions{Quiet: true, More: true}
	must(t, a.Send(ctx, h, []byte("no receive is posted"), quiet))
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := h.Drain(over); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	for range depth - 1 {
		must(t, a.TrySend(h, []byte("another"), quiet))
	}
	must(t, full(a.TrySend(h, []byte("one too many"), quiet)))
	post(t, b, depth, 100)
	must(t, h.Drain(ctx))
	if n := b.Receives().Poll(make([]ep.Completion, depth+1)); n != depth {
		t.Errorf("%d messages of %d", n, depth)
	}
}
