package srd

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/srd/internal/wire"
	"github.com/srdtun/srdtun/srd/mono"
)

// arriveAt handles a packet now. The kernel's receive timestamp of the packet is `at`.
func (s *script) arriveAt(at mono.Time, plain []byte) {
	p := Packet{Tuple: s.tuple(0), PN: s.peerPN[0], At: at, Size: 100, Plain: plain, Keys: s.keys}
	s.peerPN[0]++
	s.c.Handle(s.now, &p)
	s.pump()
}

// A measured round trip ends with the kernel's receive timestamp, however late this host
// handles the packet, and excludes the peer's ACK delay. An impossible timestamp is
// ignored.
func TestRoundTripEndsWithTheStamp(t *testing.T) {
	const trip, hold, wait = 300 * time.Microsecond, 100 * time.Microsecond, 5 * time.Millisecond
	for name, c := range map[string]struct {
		stamp func(sent, now mono.Time) mono.Time
		want  time.Duration
	}{
		"stamped":         {func(sent, _ mono.Time) mono.Time { return sent.Add(trip + hold) }, trip},
		"not stamped":     {func(_, _ mono.Time) mono.Time { return 0 }, trip + wait},
		"before sending":  {func(sent, _ mono.Time) mono.Time { return sent - 1 }, trip + wait},
		"of the future":   {func(_, now mono.Time) mono.Time { return now + 1 }, trip + wait},
		"of long ago":     {func(_, now mono.Time) mono.Time { return now.Add(-2 * waitMost) }, trip + wait},
		"within the hold": {func(sent, _ mono.Time) mono.Time { return sent.Add(hold) }, trip + wait},
	} {
		s := newScript(t, 1)
		v := s.send(1, 0)
		sent := s.now
		s.now = s.now.Add(trip + hold + wait)
		r := got(0, v[0].pn)
		r.Hold = uint16(hold / wire.HoldUnit)
		s.arriveAt(c.stamp(sent, s.now), wire.AppendAck(nil, 0, 0, []wire.Record{r}, nil))
		if got, _ := s.c.paths.table[0].rtt.Latest(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// The time for which a packet waited before this host handled it counts as ACK delay. Its
// acknowledgement is due earlier by this time.
func TestHoldIsCountedFromTheStamp(t *testing.T) {
	const wait = 8 * time.Millisecond
	s := newScript(t, 1)
	s.now = s.now.Add(time.Second)
	s.arriveAt(s.now.Add(-wait), wire.AppendPing(nil))
	f := s.sent[len(s.sent)-1].frames[0]
	if f.Kind != wire.KindAck {
		t.Fatalf("frame %d is no acknowledgement", f.Kind)
	}
	if got := time.Duration(f.Ack.Record(0).Hold) * wire.HoldUnit; got != wait {
		t.Errorf("held for %v, want %v", got, wait)
	}
}

// Timeouts allow for the greater lateness of both hosts, within bounds. With a false report
// of the peer, timeouts are at most as long as without a report. With a report of a small
// lateness, timeouts still allow for this host's lateness.
func TestTimeoutsAllowForTheLaterHost(t *testing.T) {
	const unit = wire.HoldUnit * time.Nanosecond
	own := 100 * time.Microsecond
	s := newScript(t, 1)
	s.c.env.cfg.HostDelay = func() time.Duration { return own }
	for _, c := range []struct {
		what            string
		own, told, want time.Duration
	}{
		{"the peer has said nothing", 100 * time.Microsecond, 0, mono.Granularity},
		{"both the same", 100 * time.Microsecond, 100 * time.Microsecond, 100 * time.Microsecond},
		{"the peer is later", 100 * time.Microsecond, 400 * time.Microsecond, 400 * time.Microsecond},
		{"we are later", 600 * time.Microsecond, 4 * time.Microsecond, 600 * time.Microsecond},
		{"the peer exaggerates", 100 * time.Microsecond, wire.HoldMax * unit, mono.Granularity},
		{"both are early", 0, 4 * time.Microsecond, hostLeast},
	} {
		own = c.own
		if c.told > 0 {
			s.arriveAt(0, wire.AppendHost(nil, uint16(c.told/unit)))
		}
		s.wait(0)
		if got := s.c.env.hosts.granule; got != c.want {
			t.Errorf("%s: granule %v, want %v", c.what, got, c.want)
		}
	}
}

// The peer gets a HOST frame when there is something new to report. It is the last frame of
// its packet.
func TestPeerIsTold(t *testing.T) {
	own := 100 * time.Microsecond
	s := newScript(t, 1)
	s.c.env.cfg.HostDelay = func() time.Duration { return own }
	told := func() (n int) {
		for _, p := range s.sent {
			for i, f := range p.frames {
				if f.Kind != wire.KindHost {
					continue
				}
				if n++; i+1 < len(p.frames) && p.frames[i+1].Kind != wire.Pad {
					t.Errorf("behind it stands frame %d", p.frames[i+1].Kind)
				}
				if got := time.Duration(f.Late) * wire.HoldUnit; got != own {
					t.Errorf("told %v, want %v", got, own)
				}
			}
			if p.size > 1472 {
				t.Errorf("a packet of %d bytes", p.size)
			}
		}
		s.sent = nil
		return n
	}
	for _, c := range []struct {
		what  string
		later time.Duration
		own   time.Duration
		want  int
	}{
		{"at first", 0, 100 * time.Microsecond, 1},
		{"nothing new", time.Millisecond, 120 * time.Microsecond, 0},
		{"a second later", tellEvery, 200 * time.Microsecond, 1},
	} {
		own, s.now = c.own, s.now.Add(c.later)
		s.arriveAt(0, wire.AppendPing(nil)) // elicits an acknowledgement
		s.send(3, 0)
		if n := told(); n != c.want {
			t.Errorf("%s: told %d times, want %d", c.what, n, c.want)
		}
		s.ackAll(s.c.recovery.out.next, nil)
		s.sent = nil
	}
}

// Timeouts allow for a peer whose ACK delay is far longer than a granule. Measured round
// trips do not include the ACK delay. Congestion control gets its excess separately, as a
// queue.
func TestTimeoutsFollowSlowHosts(t *testing.T) {
	const hold = 30 * time.Millisecond
	s := newScript(t, 1)
	s.c.env.cfg.HostDelay = func() time.Duration { return mono.Granularity }
	for range 50 {
		v := s.send(1, 0)
		s.now = s.now.Add(hold + 300*time.Microsecond)
		r := got(0, v[0].pn)
		r.Hold = uint16(hold / wire.HoldUnit)
		s.arriveAt(0, wire.AppendAck(nil, s.c.recovery.out.next, 0, []wire.Record{r}, nil))
		s.wait(0)
	}
	p := s.c.paths.table[0]
	if rtt, wait := p.rtt.Smoothed(), s.c.env.lostAfter(p); rtt > time.Millisecond || wait < hold {
		t.Errorf("round trip %v, timeout %v, and the peer holds back for %v", rtt, wait, hold)
	}
	if a := s.fixed.told; a.RTT > time.Millisecond || a.PeerDelay != hold-s.c.env.hosts.hold() {
		t.Errorf("told a round trip of %v, and %v in the host", a.RTT, a.PeerDelay)
	}
}

// Between hosts with a lateness of mono.Granularity, a sender waits until the window allows
// a whole train. Between other hosts each packet leaves as soon as the window allows it.
func TestLateHostsSendTrains(t *testing.T) {
	for _, c := range []struct {
		late time.Duration
		want int // packets in the first train after acknowledgements of single packets
	}{{mono.Granularity, bunchMost}, {100 * time.Microsecond, 1}} {
		s := newScript(t, 1)
		s.c.env.cfg.HostDelay = func() time.Duration { return c.late }
		s.arriveAt(0, wire.AppendHost(nil, uint16(c.late/wire.HoldUnit)))
		s.wait(0)
		s.fixed.window = 2 * bunchMost * 1472
		src := crowded{s}
		s.left = 1000
		for s.c.Next(s.now, s.train, src) {
		}
		for pn := s.c.paths.table[0].sent.First(); !s.c.Next(s.now, s.train, src); pn++ {
			plain := wire.AppendAck(nil, 0, 0, []wire.Record{got(0, pn)}, nil)
			s.c.Handle(s.now, &Packet{Tuple: s.tuple(0), PN: s.peerPN[0], Size: 100, Plain: plain, Keys: s.keys})
			s.peerPN[0]++
		}
		if s.train.Packets() != c.want {
			t.Errorf("%v late: a train of %d packets, want %d", c.late, s.train.Packets(), c.want)
		}
	}
}

// A sender that waits until the pacer allows a whole train is woken exactly then.
func TestLateHostsWaitForThePacer(t *testing.T) {
	for _, packet := range []int{1472, 8972} {
		s := newScript(t, 1)
		s.c.env.cfg.HostDelay = func() time.Duration { return mono.Granularity }
		s.c.paths.table[0].mtu, s.c.paths.packet, s.size = packet, packet, packet-100
		s.fixed.window, s.fixed.rate = 100*packet, 1e6
		src := crowded{s}
		s.left = 1000
		sent := 0
		for wakes := 0; sent < 40; wakes++ {
			if wakes > 40 {
				t.Fatalf("packets of %d bytes: %d wake-ups for %d of them", packet, wakes, sent)
			}
			for s.c.Next(s.now, s.train, src) {
				sent += s.train.Packets()
			}
			at := s.c.SendDeadline(s.now, src)
			if at == mono.Never || at <= s.now {
				t.Fatalf("packets of %d bytes: after %d of them it is woken in %v", packet, sent, at.Sub(s.now))
			}
			s.now = at
		}
	}
}

// crowded is a script's application with a megabyte waiting.
type crowded struct{ *script }

func (crowded) Waiting() int { return 1 << 20 }
