package host

import (
	"strings"
	"testing"

	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/sim/net"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// A late frame is an error only if no counter shows that a gap was given up. The frames of flow
// 0 arrive from the second on, until the first is late. (In seed 2667 of the swarm, the gap was
// given up because of the peer's share of memory.) A gap that was given up does not excuse a
// missing packet.
func TestAuditOfLateFrames(t *testing.T) {
	const frames = 100
	for name, x := range map[string]struct {
		frames, heldBytes int
		until             mono.Time
		gap               func(order.Stats) uint64
	}{
		"hold":   {frames: 2, until: mono.Time(order.MostHold), gap: func(s order.Stats) uint64 { return s.TimedOut }},
		"memory": {frames: frames, heldBytes: 1 << 20, gap: func(s order.Stats) uint64 { return s.Overflow }},
		"share":  {frames: frames, gap: func(s order.Stats) uint64 { return s.OverShare }},
		"no gap": {frames: 1},
	} {
		e := net.NewEngine(1, nil)
		a := NewAudit(e)
		h := New(e, "host", 0, Config{HeldBytes: x.heldBytes}, a)
		u := newTunnel(h, 1, 1, e.Fork())
		sender := newTunnel(New(e, "sender", 1, Config{}, a), 0, 1, e.Fork())
		var messages []srd.Message
		for len(messages) < x.frames {
			f := u.alloc(65_000)
			f.Facts.Ordered = true
			u.Cut.Load(f)
			messages = append(messages, u.Cut.Cut(len(f.Data)))
		}
		if x.gap == nil {
			u.gather.Add(1, &messages[0]) // and once more below
		}
		for _, m := range messages[1:] {
			u.gather.Add(1, &m)
		}
		u.gather.Advance(x.until)
		u.gather.Add(x.until, &messages[0])
		u.lookOrder()
		s := u.gather.Stats()
		if s.Late != 1 || x.gap != nil && x.gap(s) == 0 {
			t.Errorf("%s: %+v", name, s)
		}
		if err := a.Err(); (err != nil) != (x.gap == nil) || err != nil && !strings.Contains(err.Error(), "no gap") {
			t.Errorf("%s: %v", name, err)
		}
		if n := sender.Dropped(); n != int(s.Voided) {
			t.Errorf("%s: %d frames count as dropped, %d were", name, n, s.Voided)
		}
	}
}
