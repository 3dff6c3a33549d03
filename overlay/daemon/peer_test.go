package daemon

import (
	"net"
	"testing"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/mono"
)

// While the peer does not answer, nothing is sent. When it answers again, TCP packets are sent, and
// datagrams that are not too old.
func TestOldDatagramsAreNotSent(t *testing.T) {
	p := &peer{out: outbound{queue: queue.New(queue.Config{})}}
	for second := range 11 {
		for _, tcp := range []bool{false, true} {
			f := frame.New(make([]byte, 100), nil)
			f.TCP, f.Flow = tcp, 1
			if !tcp {
				f.Flow = 2
			}
			p.out.queue.Push(at(1+second), f)
		}
	}
	now := at(11).Add(time.Millisecond)
	sent := map[bool]int{}
	for {
		m, ok := p.Pull(now, 1000)
		if !ok {
			break
		}
		sent[m.Class == srd.Stream]++
	}
	if sent[false] != 2 || sent[true] != 11 || p.out.stale != 9 {
		t.Errorf("%d datagrams and %d packets of TCP are sent, %d are dropped", sent[false], sent[true], p.out.stale)
	}
}

// If a datagram was partly sent before a stop and is too old after it, the rest is dropped. The
// rest of a TCP packet is sent.
func TestRestOfAnOldDatagramIsNotSent(t *testing.T) {
	for _, tcp := range []bool{false, true} {
		p := &peer{out: outbound{queue: queue.New(queue.Config{})}}
		released := 0
		f := frame.New(make([]byte, 1000), func(*frame.Frame) { released++ })
		f.TCP = tcp
		p.out.queue.Push(at(1), f)
		first, ok := p.Pull(at(1), 400)
		if !ok {
			t.Fatal("nothing to send")
		}
		_, ok = p.Pull(at(1).Add(datagramAge+time.Millisecond), 400)
		if ok != tcp || p.Backlog() != tcp || (p.out.stale == 1) == tcp {
			t.Errorf("TCP %v: sent on: %v, backlog %v, %d dropped", tcp, ok, p.Backlog(), p.out.stale)
		}
		first.Owner.Done(srd.Acknowledged)
		if (released == 1) == tcp {
			t.Errorf("TCP %v: released %d times", tcp, released)
		}
	}
}

// ipv4 returns a frame in which only the header fields that identify the protocol are set.
func ipv4(protocol byte, n int) *frame.Frame {
	b := make([]byte, n)
	b[0], b[9] = 0x45, protocol
	f := frame.New(b, nil)
	f.TCP, f.Facts.Ordered = protocol == packet.ProtoTCP, true
	return f
}

// Datagrams that waited in a socket during a stop are dropped, even if they arrived in several
// messages. TCP packets are delivered. No frame waits for the dropped datagrams.
func TestStaleDatagramsAreNotDelivered(t *testing.T) {
	p := &peer{in: inbound{reassembler: order.NewReassembler(order.Config{Alloc: func(n int) *frame.Frame { return frame.New(make([]byte, n), nil) }})}}
	var cut order.Segmenter
	deliver := func(f *frame.Frame, stale bool) {
		for cut.Load(f); !cut.Empty(); {
			m := cut.Cut(600)
			m.Stale = stale
			p.Deliver(at(1), &m)
		}
	}
	p.out.queue = queue.New(queue.Config{})
	for _, stale := range []bool{false, true} {
		for _, size := range []int{100, 1500} {
			for _, protocol := range []byte{packet.ProtoTCP, packet.ProtoUDP} {
				before := p.in.stale
				deliver(ipv4(protocol, size), stale)
				got := len(p.in.reassembler.TakeReady(nil))
				if dropped := stale && protocol == packet.ProtoUDP; (got == 0) != dropped || (p.in.stale == before+1) != dropped {
					t.Errorf("stale %v, protocol %d, %d bytes: %d frames come out, %d dropped", stale, protocol, size, got, p.in.stale-before)
				}
			}
		}
	}
	if c := peerDrops(p, &srd.Stats{}).happened(); len(c) != 1 || c["receive_stale"] != 2 {
		t.Errorf("counted: %v, want each datagram once", c)
	}
	p.in.reassembler.Advance(at(3)) // forget the rest of a datagram without its beginning
	if s := p.in.reassembler.Stats(); s.HeldNow != 0 || s.HeldBytes != 0 {
		t.Errorf("%d frames wait, %d bytes", s.HeldNow, s.HeldBytes)
	}
}

// Datagrams that waited for earlier frames during a stop are too old, too.
func TestHeldDatagramsGetOld(t *testing.T) {
	p := &peer{}
	for protocol, want := range map[byte]bool{packet.ProtoTCP: false, packet.ProtoUDP: true} {
		f := ipv4(protocol, 100)
		f.Enqueued = at(1)
		if got := p.delivery.tooOld(at(1).Add(datagramAge), f); got {
			t.Errorf("protocol %d is too old at once", protocol)
		}
		if got := p.delivery.tooOld(at(1).Add(datagramAge+1), f); got != want {
			t.Errorf("protocol %d: too old %v", protocol, got)
		}
	}
	if p.delivery.aged.Load() != 1 {
		t.Errorf("%d counted", p.delivery.aged.Load())
	}
}

// After a peer's restart, the rest of a frame that was partly sent to its previous process is
// dropped. The drops are counted.
func TestFramesOfARestartAreCounted(t *testing.T) {
	p := &peer{out: outbound{queue: queue.New(queue.Config{})}, in: inbound{reassembler: order.NewReassembler(order.Config{})}}
	p.out.queue.Push(at(1), frame.New(make([]byte, 1000), nil))
	if _, ok := p.Pull(at(1), 400); !ok {
		t.Fatal("nothing to send")
	}
	p.out.pieces.left = []*frame.Frame{frame.New(make([]byte, 20), nil), frame.New(make([]byte, 20), nil)}
	p.Restarted(at(1))
	if c := peerDrops(p, &srd.Stats{}).happened(); len(c) != 1 || c["peer_restarted"] != 3 {
		t.Errorf("counted: %v, want 3 for the restart", c)
	}
}

// When a peer is removed from the configuration, its frames are dropped and counted, wherever they
// wait.
func TestFramesOfARemovedPeerAreCounted(t *testing.T) {
	runDir(t)
	r := up(t, parse(t))
	s := r.server
	p := s.running.peers()[0]
	removed := func() uint64 { return s.status.dropCounts().all()["peer_removed"] }
	cut := new(order.Segmenter)
	p.link.Do(func(now mono.Time, _ *srd.Conn) {
		p.out.segmenter.Load(frame.New(make([]byte, 1000), nil))
		p.out.pieces.left = []*frame.Frame{frame.New(make([]byte, 20), nil)}
		for range 3 {
			p.out.queue.Push(now, ipv4(packet.ProtoTCP, 100))
		}
		// Of three frames, the first does not arrive, the second arrives in part, and the third
		// waits for them.
		for i, size := range []int{100, 700, 100} {
			f := ipv4(packet.ProtoTCP, size)
			for cut.Load(f); !cut.Empty(); {
				m := cut.Cut(400)
				if i == 2 || i == 1 && len(m.Data) == 400 {
					p.Deliver(now, &m)
				}
			}
		}
	})
	without := parse(t)
	without.Peers = without.Peers[1:]
	accepted(t, control.Change{How: control.HowReload, Config: string(config.Format(without))})
	if n := removed(); n != 7 {
		t.Errorf("%d counted, want 7: 1 and 1 in parts, 3 in the queue, 1 not complete, 1 held for order", n)
	}
	if p.push(s.sessions.loop.Now(), []*frame.Frame{ipv4(packet.ProtoTCP, 100), ipv4(packet.ProtoTCP, 100)}) || removed() != 9 {
		t.Errorf("%d counted, want 9 after two that were read before", removed())
	}
	r.cancel()
	r.wait()
}

// A frame that no peer takes is counted as dropped, and not among the sent frames of a flow.
func TestRefusedFramesAreNoFlow(t *testing.T) {
	runDir(t)
	r := up(t, parse(t, `endpoints = ["localhost:5998"]`, ""))
	found := make(chan control.Flows, 1)
	go func() {
		v, err := r.server.Flows(t.Context(), 200*time.Millisecond)
		if err != nil {
			t.Error(err)
		}
		found <- v
	}()
	c, err := net.Dial("udp", "10.80.0.3:9")
	must(t, err)
	defer c.Close()
	for {
		_, _ = c.Write(make([]byte, 1000)) // the last one may have got an ICMP error
		select {
		case v := <-found:
			if dropped := r.server.status.show(r.server.running.peers()).Peers[1].Drops["no_endpoint"]; len(v.Flows) > 0 || dropped == 0 {
				t.Errorf("%d dropped, flows %+v", dropped, v.Flows)
			}
			r.cancel()
			r.wait()
			return
		case <-time.After(time.Millisecond):
		}
	}
}

// at returns the time some seconds after the start of the clock.
func at(second int) mono.Time { return mono.Time(0).Add(time.Duration(second) * time.Second) }

// An idle peer has dozens of counters. If they are zero, a status of a thousand such peers takes no
// memory for them.
func TestZeroCountersTakeNoMemoryInAStatus(t *testing.T) {
	p := &peer{out: outbound{queue: queue.New(queue.Config{})}, in: inbound{reassembler: order.NewReassembler(order.Config{})}}
	stats := &srd.Stats{}
	none := testing.AllocsPerRun(100, func() {
		if c := peerDrops(p, stats).happened(); len(c) > 0 {
			t.Errorf("%v", c)
		}
	})
	if n := len(peerDrops(p, stats).all()); none > 1 || n < 30 {
		t.Errorf("%v allocations for none of %d counters, want one at most", none, n)
	}
}
