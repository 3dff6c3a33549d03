package srd

import (
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/cc"
	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// bottleneck is a link with a drop-tail queue from a script to its peer. The peer's
// acknowledgements return without a queue.
type bottleneck struct {
	*script
	rate  float64 // bytes per second
	queue time.Duration
	trip  time.Duration
	lies  func(b *bottleneck, arrived []uint64) []byte // returns the acknowledgement for each packet; nil: the peer is honest

	free    mono.Time
	dropped int
	carried int
	waits   []time.Duration // queueing delays of the carried packets
	seen    int             // number of packets in script.sent that were handled
	arrived []uint64        // numbers of the newest packets that arrived
	acks    []ackDue
}

type ackDue struct {
	at    mono.Time
	plain []byte
}

// bulk sends as much as window and pacer allow for the time d.
func (b *bottleneck) bulk(d time.Duration) {
	b.left = 1 << 30
	for end := b.now.Add(d); b.now < end; {
		b.c.Advance(b.now)
		b.pump()
		b.carry()
		at, _ := b.c.Deadline()
		at = at.Min(b.c.SendDeadline(b.now, b))
		if len(b.acks) > 0 {
			at = at.Min(b.acks[0].at)
		}
		b.now = max(b.now+1, at)
		for len(b.acks) > 0 && b.acks[0].at <= b.now {
			b.arrive(0, len(b.acks[0].plain)+wire.Overhead, b.acks[0].plain)
			b.acks = b.acks[1:]
		}
	}
}

// carry puts newly sent packets into the queue, or drops them.
func (b *bottleneck) carry() {
	for ; b.seen < len(b.sent); b.seen++ {
		p := &b.sent[b.seen]
		if !p.has(wire.KindMessage) {
			continue
		}
		start := max(b.now, b.free)
		if start.Sub(b.now) > b.queue {
			b.dropped++
		} else {
			b.free = start.Add(time.Duration(float64(p.size) / b.rate * 1e9))
			b.carried++
			b.waits = append(b.waits, b.free.Sub(b.now))
			b.arrived = append(b.arrived[max(0, len(b.arrived)-30):], p.pn)
		}
		b.acks = append(b.acks, ackDue{max(b.now, b.free).Add(b.trip), b.answer()})
	}
}

func (b *bottleneck) answer() []byte {
	if b.lies != nil {
		return b.lies(b, b.arrived)
	}
	return wire.AppendAck(nil, 0, 0, b.record(b.arrived), nil)
}

// record returns the acknowledgement record of these packets of path 0.
func (b *bottleneck) record(pns []uint64) []wire.Record {
	if len(pns) == 0 {
		return nil
	}
	return []wire.Record{got(0, pns...)}
}

// The acknowledgement of a message that never arrived neither increases the window nor frees
// room in it. A peer that sends such acknowledgements gets less through a full link than an
// honest peer, and causes no more drops.
func TestScriptMessageNumbersGiveNoCredit(t *testing.T) {
	run := func(lies func(*bottleneck, []uint64) []byte) *bottleneck {
		b := &bottleneck{script: newScript(t, 1), rate: 10e6 / 8, queue: 25 * time.Millisecond, trip: time.Millisecond, lies: lies}
		b.c.env.cfg.Control = cc.New(0)
		b.bulk(5 * time.Second)
		b.wantSound(t)
		return b
	}
	honest := run(nil)
	if honest.carried < 3000 || honest.dropped > honest.carried/10 {
		t.Fatalf("an honest peer: %d packets carried, %d dropped", honest.carried, honest.dropped)
	}
	all := func(b *bottleneck) uint64 { return b.c.recovery.out.next }
	for name, lie := range map[string]func(b *bottleneck, arrived []uint64) []byte{
		"numbers alone": func(b *bottleneck, arrived []uint64) []byte {
			return wire.AppendAck(nil, all(b), 0, nil, nil)
		},
		"numbers, and the same record again": func(b *bottleneck, arrived []uint64) []byte {
			return wire.AppendAck(nil, all(b), 0, b.record([]uint64{b.sent[0].pn}), nil)
		},
		"numbers, and true records": func(b *bottleneck, arrived []uint64) []byte {
			return wire.AppendAck(nil, all(b), 0, b.record(arrived), nil)
		},
		"numbers, and a record now and then": func(b *bottleneck, arrived []uint64) []byte {
			if b.carried%100 > 3 {
				arrived = nil
			}
			return wire.AppendAck(nil, all(b), 0, b.record(arrived), nil)
		},
		"all by a bitmap": func(b *bottleneck, arrived []uint64) []byte {
			return wire.AppendAck(nil, 0, 0, nil, []uint64{^uint64(0), ^uint64(0), ^uint64(0)})
		},
	} {
		b := run(lie)
		t.Logf("%s: %d packets carried, %d dropped; honest %d, %d", name, b.carried, b.dropped, honest.carried, honest.dropped)
		if b.carried > honest.carried || b.dropped > honest.carried/20+honest.dropped {
			t.Errorf("%s: %d packets carried, %d dropped; honest %d, %d", name, b.carried, b.dropped, honest.carried, honest.dropped)
		}
	}
}

// A peer that reports a long ACK delay in every acknowledgement hides the queue of its link. The
// link still drops hardly more packets than with an honest peer.
func TestScriptHoldHidesNoQueue(t *testing.T) {
	for _, trip := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 40 * time.Millisecond, 80 * time.Millisecond} {
		run := func(lies func(*bottleneck, []uint64) []byte) *bottleneck {
			b := &bottleneck{script: newScript(t, 1), rate: 10e6 / 8, queue: 25 * time.Millisecond, trip: trip, lies: lies}
			b.c.env.cfg.Control = cc.New(0)
			b.lengthen(trip)
			b.bulk(5 * time.Second)
			b.wantSound(t)
			return b
		}
		honest := run(nil)
		b := run(func(b *bottleneck, arrived []uint64) []byte {
			records := b.record(arrived)
			for i := range records {
				records[i].Hold = wire.HoldMax - 1
			}
			return wire.AppendAck(nil, 0, 0, records, nil)
		})
		t.Logf("%v: %d packets carried, %d dropped; honest %d, %d", trip, b.carried, b.dropped, honest.carried, honest.dropped)
		if b.dropped > honest.carried/20+2*honest.dropped {
			t.Errorf("%v: %d packets carried, %d dropped; honest %d, %d", trip, b.carried, b.dropped, honest.carried, honest.dropped)
		}
	}
}

// A peer with a false clock in its acknowledgements attributes the queue of its link to the
// return path. Its window is at most twice that of an honest peer.
func TestScriptClockHidesLittle(t *testing.T) {
	lie := func(b *bottleneck, arrived []uint64) []byte {
		return wire.AppendAck(nil, 0, max(1, b.now.Stamp()), b.record(arrived), nil)
	}
	for _, trip := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond} {
		for _, queue := range []time.Duration{25 * time.Millisecond, time.Second} {
			run := func(lies func(*bottleneck, []uint64) []byte) *bottleneck {
				b := &bottleneck{script: newScript(t, 1), rate: 10e6 / 8, queue: queue, trip: trip, lies: lies}
				b.c.env.cfg.Control = cc.New(0)
				b.lengthen(trip)
				b.bulk(8 * time.Second)
				b.waits = b.waits[len(b.waits)/2:] // without the first half
				b.wantSound(t)
				return b
			}
			honest, b := run(nil), run(lie)
			longest := slices.Max(b.waits)
			t.Logf("%v, a buffer of %v: %d packets carried, %d dropped, %v waited; honest %d, %d, %v",
				trip, queue, b.carried, b.dropped, longest, honest.carried, honest.dropped, slices.Max(honest.waits))
			if b.dropped > honest.carried/20+2*honest.dropped {
				t.Errorf("%v, a buffer of %v: %d packets carried, %d dropped; honest %d, %d", trip, queue, b.carried, b.dropped, honest.carried, honest.dropped)
			}
			wait := slices.Max(honest.waits)
			if most := max(wait+4*cc.TargetCeiling, 2*(trip+wait)-trip); longest > most {
				t.Errorf("%v, a buffer of %v: %v waited, want at most %v", trip, queue, longest, most)
			}
		}
	}
}

// A peer that reports false ACK delays, always, once, or in every other acknowledgement, cannot
// make the sender fill a buffer. A base that is too low because of such a report does not make
// the sender assume competing traffic. Varying ACK delays do not count as jitter.
func TestScriptLiesAboutHoldsFillNoBuffer(t *testing.T) {
	for _, trip := range []time.Duration{5 * time.Millisecond, 20 * time.Millisecond, 80 * time.Millisecond} {
		longest := func(hold func(n int) uint16) time.Duration {
			n := 0
			b := &bottleneck{script: newScript(t, 1), rate: 10e6 / 8, queue: time.Second, trip: trip}
			b.lies = func(b *bottleneck, arrived []uint64) []byte {
				records := b.record(arrived)
				for i := range records {
					records[i].Hold = hold(n)
				}
				n++
				return wire.AppendAck(nil, 0, 0, records, nil)
			}
			b.c.env.cfg.Control = cc.New(0)
			b.lengthen(trip)
			b.bulk(8 * time.Second)
			b.wantSound(t)
			return slices.Max(b.waits[len(b.waits)/2:])
		}
		once := func(hold uint16) func(int) uint16 {
			return func(n int) uint16 {
				if n != 100 {
					return 0
				}
				return hold
			}
		}
		half := uint16(trip / 2 / wire.HoldUnit)
		honest := longest(func(int) uint16 { return 0 })
		for name, hold := range map[string]func(n int) uint16{
			"never said":          func(int) uint16 { return wire.HoldMax },
			"all":                 func(int) uint16 { return wire.HoldMax - 1 },
			"all, once":           once(wire.HoldMax - 1),
			"all, in turn":        func(n int) uint16 { return []uint16{0, wire.HoldMax - 1}[n%2] },
			"nearly all, once":    once(2*half - 5),
			"half, in turn":       func(n int) uint16 { return half * uint16(n%2) },
			"as much as there is": func(int) uint16 { return 2 * half },
		} {
			if d := longest(hold); d > 2*honest+40*time.Millisecond {
				t.Errorf("%v, %s: a wait of %v, honest %v", trip, name, d, honest)
			}
		}
	}
}
