package msg_test

import (
	"testing"

	"github.com/srdtun/srdtun/srd/ep"
	"github.com/srdtun/srdtun/srd/msg"
)

// Messages with More are also sent if the program cannot send another one, because the
// queue is full.
func TestFullQueueHoldsNothingBack(t *testing.T) {
	ctx := background(t)
	const depth = 4
	a, b := endpoint(t, msg.Config{Endpoint: ep.Config{SendDepth: depth}}), endpoint(t, msg.Config{})
	h := joined(t, a, b)
	for range depth {
		send(t, ctx, h, 1, []byte("more"), msg.Options{More: true})
	}
	if err := h.TrySend(1, []byte("last"), msg.Options{}); err != ep.ErrFull {
		t.Errorf("got %v", err)
	}
	for done, batch := 0, make([]msg.Completion, depth); done < depth; {
		n, err := a.Sends().Wait(ctx, batch)
		if err != nil {
			t.Fatalf("%d of %d: %v", done, depth, err)
		}
		for i := range batch[:n] {
			if batch[i].Err != nil {
				t.Error(batch[i].Err)
			}
		}
		done += n
	}
}
