package ep_test

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/ep"
)

// One peer floods a program that does not release its messages. It occupies at most its
// share of the receives, even with new sessions, and the other receives stay free for
// another peer.
func TestPeerHasItsShareOfReceives(t *testing.T) {
	ctx := background(t)
	const most = 4
	b := endpoint(t, ep.Config{PeerReceives: most})
	key := ep.NewKey()
	a, c := endpoint(t, ep.Config{Key: key}), endpoint(t, ep.Config{})
	post(t, b, 50, 100)
	flood := func(e *ep.Endpoint) *ep.Handle {
		h := joined(t, e, b)
		for range 20 {
			must(t, e.Send(ctx, h, make([]byte, 100), ep.SendOptions{}))
		}
		return h
	}
	h := flood(a)
	var got []ep.Completion
	for range most {
		got = append(got, next(t, ctx, b.Receives()))
	}
	confirm(t, ctx, c, joined(t, c, b), "I have a share of my own", ep.StatusOK)
	if m := next(t, ctx, b.Receives()); m.From != c.PublicKey() {
		t.Error("more than a share")
	}
	if err := a.Confirm(ctx, h, nil, ep.SendOptions{HasImmediate: true}); err != nil { // a message with immediate data does not count
		t.Error(err)
	}
	next(t, ctx, b.Receives())
	a.Close()
	again := endpoint(t, ep.Config{Key: key})
	refused := b.Stats().Refused
	flood(again)
	for b.Stats().Refused == refused {
		time.Sleep(time.Millisecond)
	}
	if n := b.Receives().Poll(make([]ep.Completion, 1)); n > 0 {
		t.Error("a new session has another share")
	}
	for k := range 20 {
		got[k%most].Release()
		got[k%most] = next(t, ctx, b.Receives())
	}
	for range 20 {
		if s := next(t, ctx, again.Sends()); s.Err() != nil {
			t.Error(s.Err())
		}
	}
}
