package srd

import (
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/steer"
	"pgregory.net/rapid"
)

// mix is a source of messages of the given sizes. The small ones want a copy
// (Message.Twice).
type mix struct {
	OneFlow
	sizes []int
}

const mixSmall = 300

func (m *mix) Pull(_ mono.Time, most int) (Message, bool) {
	if len(m.sizes) == 0 || m.sizes[0] > most {
		return Message{}, false
	}
	n := m.sizes[0]
	m.sizes = m.sizes[1:]
	return Message{Data: make([]byte, n), Twice: n <= mixSmall, Class: Datagram}, true
}

// Backlog implements Source.
func (m *mix) Backlog() bool { return len(m.sizes) > 0 }

// pinned is the policy spray with a first path that the test chooses.
type pinned struct {
	*steer.Spray
	on *pin
}

func (p *pinned) Pick(now mono.Time, usable *steer.Set, c steer.Context) int {
	return p.on.Pick(now, usable, c)
}

// copies returns how many messages were copied, and how many were not copied because of the
// budget.
func (s *script) copies() (copied, refused uint64) {
	return s.c.env.cfg.Policy.(*pinned).Copies()
}

// apart puts these paths on an uplink of their own, and sets a policy that copies messages.
func (s *script) apart(paths ...int) {
	for _, i := range paths {
		t := &s.c.paths.table[i].tuple
		t.Local = t.Local.At(uint32(i))
	}
	s.c.SetPolicy(&pinned{steer.NewSpray(1), s.pin})
}

// copyPart: the bytes of copies are at most 1/copyPart of the bytes of new messages.
const copyPart = 50

// rich sends enough new messages that the budget allows copies.
func (s *script) rich() {
	s.drain(&mix{sizes: slices.Repeat([]int{1400}, copyPart)})
	s.ackAll(s.c.recovery.out.next, nil)
}

// onBoth returns the numbers of the messages that were sent on two paths.
func onBoth(v []sent) (both []uint32) {
	on := map[uint32]uint16{}
	for _, p := range v {
		for _, n := range p.numbers() {
			if first, ok := on[n]; ok && first != p.slot {
				both = append(both, n)
			}
			on[n] = p.slot
		}
	}
	return both
}

// A message that wants a copy is also sent on a second uplink. The arrival of one copy is
// enough, and the acknowledgement of the other copy measures that copy's path.
func TestScriptCopyOnSecondUplink(t *testing.T) {
	s := newScript(t, 2)
	s.apart(1)
	s.rich()
	v := s.drain(&mix{sizes: []int{1400, 200, 1400}})
	n := uint32(copyPart + 1)
	if both := onBoth(v); !slices.Equal(both, []uint32{n}) || s.c.env.stats.Retransmitted > 0 {
		t.Fatalf("messages %v are on both paths, want %d", both, n)
	}
	if copied, refused := s.copies(); copied != 1 || refused != 0 {
		t.Errorf("%d copied, %d refused", copied, refused)
	}
	copied := v[slices.IndexFunc(v, func(p sent) bool { return p.slot == 1 })]
	s.ack(wire.Record{Slot: 1, Highest: copied.pn})
	if s.c.recovery.out.open(uint64(n)) {
		t.Error("the copy arrived, and its message is open")
	}
	if s.c.paths.table[0].inflight == 0 {
		t.Error("the first packet counts as arrived")
	}
	s.ackAll(s.c.recovery.out.next, nil, wire.Record{Slot: 0, Highest: s.c.paths.table[0].sent.Next() - 1, Below: ^uint64(0)})
	if s.c.recovery.inflight != 0 || s.c.env.stats.Retransmitted > 0 {
		t.Errorf("%d bytes in flight, %d sent again", s.c.recovery.inflight, s.c.env.stats.Retransmitted)
	}
	s.wantSound(t)
}

// When both copies are lost the message is repaired.
func TestScriptCopyIsRepaired(t *testing.T) {
	s := newScript(t, 2)
	s.apart(1)
	s.rich()
	s.drain(&mix{sizes: []int{200}})
	from := len(s.sent)
	s.wait(40 * time.Millisecond)
	if again := s.resent(from, 9); !slices.Contains(again, copyPart) {
		t.Errorf("sent again: %v", again)
	}
	s.wantSound(t)
}

// No message is copied without a second uplink, or with a policy that keeps flows on their
// paths or uplinks in reserve.
func TestScriptNoCopy(t *testing.T) {
	for _, c := range []struct {
		name   string
		apart  []int
		policy steer.Policy
	}{{"one uplink", nil, nil}, {"ecmp", []int{1}, steer.NewECMP(1)}, {"active-backup", []int{1}, steer.NewActiveBackup(0)}} {
		t.Run(c.name, func(t *testing.T) {
			s := newScript(t, 2)
			s.apart(c.apart...)
			spray := s.c.env.cfg.Policy.(*pinned)
			if c.policy != nil {
				s.c.SetPolicy(c.policy)
			}
			s.rich()
			if both := onBoth(s.drain(&mix{sizes: []int{200, 1400, 200}})); len(both) > 0 {
				t.Errorf("messages %v are on both paths", both)
			}
			if copied, refused := spray.Copies(); copied+refused > 0 {
				t.Errorf("%d copied, %d refused", copied, refused)
			}
			s.wantSound(t)
		})
	}
}

// If both ends have several uplinks, the copy shares none with the first packet.
func TestScriptCopySharesNoUplink(t *testing.T) {
	s := newScript(t, 4)
	for i, p := range s.c.paths.table { // two uplinks at each end, and all pairs of them
		p.tuple.Local = p.tuple.Local.At(uint32(i % 2))
		if i/2 == 1 {
			p.tuple.Remote = netip.MustParseAddrPort("10.0.1.2:7")
		}
	}
	s.apart()
	for i := range 4 {
		s.rich()
		s.pin.on = i
		v := s.drain(&mix{sizes: []int{200}})
		if len(v) != 2 || v[0].slot != uint16(i) || v[1].slot != uint16(3-i) {
			t.Errorf("on paths %v", v)
		}
	}
}

// Whatever the peer acknowledges, the bytes of copies are at most 1/copyPart of the bytes
// of new messages.
func TestScriptCopiesKeepToTheirBudget(t *testing.T) {
	var copied, refused uint64
	rapid.Check(t, func(r *rapid.T) {
		s := newScript(t, 3)
		s.apart(1, 2)
		fresh, last := 0, -1
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			s.pin.on = rapid.IntRange(0, 2).Draw(r, "path")
			sizes := rapid.SliceOfN(rapid.SampledFrom([]int{1, 100, mixSmall, 1400, 1400, 1400}), 0, 60).Draw(r, "sizes")
			for _, p := range s.drain(&mix{sizes: sizes}) {
				if n := p.numbers(); int(slices.Max(n)) > last {
					fresh, last = fresh+p.size, int(slices.Max(n))
				}
			}
			if c, _ := s.copies(); int(c)*(wire.Overhead+wire.MessageOverhead+1) > fresh/copyPart {
				r.Fatalf("%d copies for %d bytes", c, fresh)
			}
			on := uint16(rapid.IntRange(0, 2).Draw(r, "record"))
			l := &s.c.paths.table[on].sent
			switch rapid.IntRange(0, 2).Draw(r, "lie") {
			case 0:
				s.wait(time.Duration(rapid.IntRange(0, 100).Draw(r, "wait")) * time.Millisecond)
			case 1:
				if l.Next() > 0 {
					s.ack(wire.Record{Slot: on, Highest: l.Next() - 1, Below: rapid.Uint64().Draw(r, "below")})
				}
			default:
				s.ackAll(rapid.Uint64Range(0, s.c.recovery.out.next).Draw(r, "first"), []uint64{rapid.Uint64().Draw(r, "word")})
			}
			s.wantSound(r)
		}
		c, n := s.copies()
		copied, refused = copied+c, refused+n
	})
	if copied == 0 || refused == 0 {
		t.Errorf("%d copies, %d refused", copied, refused)
	}
}
