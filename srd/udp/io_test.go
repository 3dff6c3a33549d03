package udp

import (
	"bytes"
	"net/netip"
	"testing"

	"github.com/srdtun/srdtun/srd"
	"golang.org/x/sys/unix"
)

// A train arrives as one merged datagram, in both address families, on the loopback device
// and on an Ethernet-like device.
func TestTrainsArriveWhole(t *testing.T) {
	near, far := newSpace(t), newSpace(t)
	cable(t, near, far)
	a, b, c := near.open(t, Config{Ports: 1}), near.open(t, Config{Ports: 1}), far.open(t, Config{Ports: 1})
	for _, to := range []struct {
		addr string
		bank *Bank
	}{{"127.0.0.1", b}, {"::1", b}, {"10.9.0.2", c}, {"fd09::2", c}} {
		t.Run(to.addr, func(t *testing.T) {
			var stats SendStats
			s, r := NewSender(a, &stats), NewReceiver(new(Bank), new(RecvStats))
			for _, n := range []int{1, 2, 44} {
				tr := train(at(to.bank, to.addr), n, 1400)
				s.Send(tr)
				d := receive(t, r, fdFor(to.bank, to.addr))
				if !bytes.Equal(d.Data, tr.Buf) {
					t.Fatalf("%d packets: %d bytes came, %d sent", n, len(d.Data), len(tr.Buf))
				}
				if n > 1 && d.Segment != 1400 || n == 1 && d.Segment != 0 {
					t.Errorf("%d packets: segments of %d", n, d.Segment)
				}
				if d.From.Port() != a.Socket(0).Port || d.Local.String() != to.addr || d.ECN != srd.ECT {
					t.Errorf("%+v", d)
				}
			}
			if stats.Trains.Load() != 3 || stats.Packets.Load() != 47 || stats.NoSegments.Load() != 0 {
				t.Errorf("%d trains, %d packets, %d unsegmented", stats.Trains.Load(), stats.Packets.Load(), stats.NoSegments.Load())
			}
		})
	}
}

func TestSourceAddress(t *testing.T) {
	s := newSpace(t)
	s.address(t, "lo", "192.0.2.1/32", "192.0.2.2/32", "fd09::1/128", "fd09::2/128")
	a, b := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	var stats SendStats
	send, r := NewSender(a, &stats), NewReceiver(new(Bank), new(RecvStats))
	for _, c := range []struct{ local, remote string }{
		{"192.0.2.1", "192.0.2.2"}, {"192.0.2.2", "192.0.2.2"}, {"192.0.2.2", "192.0.2.1"},
		{"fd09::1", "fd09::2"}, {"fd09::2", "fd09::2"},
	} {
		tr := train(at(b, c.remote), 2, 100)
		tr.Tuple.Local = srd.UplinkOf(netip.MustParseAddr(c.local), 0)
		send.Send(tr)
		d := receive(t, r, fdFor(b, c.remote))
		if d.From.Addr().String() != c.local || d.Local.String() != c.remote {
			t.Errorf("%v: from %v to %v", c, d.From, d.Local)
		}
	}
	tr := train(at(b, "192.0.2.2"), 3, 100)
	tr.Tuple.Local = srd.UplinkOf(netip.MustParseAddr("198.51.100.1"), 0) // not an address of this host
	send.Send(tr)
	if n := stats.Unreachable.Load(); n != 3 {
		t.Errorf("%d packets from a foreign address counted, want 3", n)
	}
}

// Packets are sent with ECT, and received marks (Congestion Experienced) are reported.
func TestCE(t *testing.T) {
	s := newSpace(t)
	a, b := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	send, r := NewSender(a, new(SendStats)), NewReceiver(new(Bank), new(RecvStats))
	for _, addr := range []string{"127.0.0.1", "::1"} {
		level, option := unix.IPPROTO_IP, unix.IP_TOS
		if addr == "::1" {
			level, option = unix.IPPROTO_IPV6, unix.IPV6_TCLASS
		}
		if v, err := unix.GetsockoptInt(fdFor(a, addr), level, option); v != 2 || err != nil {
			t.Errorf("%s: sent with traffic class %d, %v", addr, v, err)
		}
		for _, class := range []int{3, 2, 0, 1, 0xb8 | 3} {
			must(t, unix.SetsockoptInt(fdFor(a, addr), level, option, class))
			send.Send(train(at(b, addr), 2, 100))
			if d := receive(t, r, fdFor(b, addr)); d.ECN != []srd.ECN{srd.NotECT, srd.ECT, srd.ECT, srd.CE}[class&3] {
				t.Errorf("%s: class %#x: ECN %v", addr, class, d.ECN)
			}
		}
	}
}

// A probe that is too large for the device does not count as a drop.
func TestTooBig(t *testing.T) {
	near, far := newSpace(t), newSpace(t)
	cable(t, near, far)
	a, c := near.open(t, Config{Ports: 1}), far.open(t, Config{Ports: 1})
	var stats SendStats
	s := NewSender(a, &stats)
	for _, addr := range []string{"10.9.0.2", "fd09::2"} {
		tr := train(at(c, addr), 1, 1500)
		tr.Probe = true
		s.Send(tr)
	}
	if n := stats.TooBig.Load() + stats.Failed.Load() + stats.NoBuffer.Load() + stats.Packets.Load(); n != 0 {
		t.Fatalf("%d packets counted for probes", n)
	}
	s.Send(train(at(c, "10.9.0.2"), 1, 1500))
	if n := stats.TooBig.Load(); n != 1 {
		t.Fatalf("%d packets too big, want 1", n)
	}
	// A train with packets that are too large does not count as a failure of UDP_SEGMENT: the
	// next train, of packets that fit, is sent with one call.
	s.Send(train(at(c, "10.9.0.2"), 3, 1500))
	if n := stats.TooBig.Load(); n != 3 || stats.Packets.Load() != 1 { // the last packet is short and passes
		t.Fatalf("%d packets too big, %d sent; want 3 and 1", n, stats.Packets.Load())
	}
	before := stats.NoSegments.Load()
	s.Send(train(at(c, "10.9.0.2"), 3, 1400))
	if n := stats.NoSegments.Load(); n != before {
		t.Errorf("sent packet by packet")
	}
}

// If the kernel refuses UDP_SEGMENT, packets are sent one by one and counted. After some
// time UDP_SEGMENT is tried again.
func TestWithoutSegmentation(t *testing.T) {
	s := newSpace(t)
	a, b := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	var stats SendStats
	send, r := NewSender(a, &stats), NewReceiver(new(Bank), new(RecvStats))
	// The kernel does not segment packets without a checksum.
	must(t, unix.SetsockoptInt(a.Socket(0).fd4, unix.SOL_SOCKET, unix.SO_NO_CHECK, 1))
	to := at(b, "127.0.0.1")
	tr := train(to, 3, 500)
	send.Send(tr)
	var got []byte
	for range 3 {
		d := receive(t, r, b.Socket(0).fd4)
		if d.Segment != 0 {
			t.Errorf("segments of %d", d.Segment)
		}
		got = append(got, d.Data...)
	}
	if !bytes.Equal(got, tr.Buf) {
		t.Error("other bytes came")
	}
	if stats.NoSegments.Load() != 1 || stats.Packets.Load() != 3 || stats.Trains.Load() != 3 {
		t.Errorf("%d unsegmented, %d packets, %d calls", stats.NoSegments.Load(), stats.Packets.Load(), stats.Trains.Load())
	}
	must(t, unix.SetsockoptInt(a.Socket(0).fd4, unix.SOL_SOCKET, unix.SO_NO_CHECK, 0))
	for range retrySegments - 1 {
		send.Send(train(to, 2, 10))
		receive(t, r, b.Socket(0).fd4)
		receive(t, r, b.Socket(0).fd4)
	}
	send.Send(tr)
	if d := receive(t, r, b.Socket(0).fd4); d.Segment != 500 {
		t.Errorf("UDP_SEGMENT was not tried again: segments of %d", d.Segment)
	}
}

func TestWhatCannotBeSentIsCounted(t *testing.T) {
	s := newSpace(t)
	a := s.open(t, Config{Ports: 1})
	var stats SendStats
	send := NewSender(a, &stats)
	tr := train(at(a, "127.0.0.1"), 3, 10)
	tr.Tuple.Sock = 1 // there is no such socket
	send.Send(tr)
	if n := stats.Failed.Load(); n != 3 {
		t.Errorf("%d packets failed, want 3", n)
	}
	send.Send(train(netip.MustParseAddrPort("192.0.2.1:9"), 2, 10)) // no route
	if f, n := stats.Failed.Load(), stats.Unreachable.Load(); f != 3 || n != 2 {
		t.Errorf("%d packets failed and %d were unreachable, want 3 and 2", f, n)
	}
}

// A datagram larger than the buffer is dropped, and counted.
func TestTruncationIsCounted(t *testing.T) {
	s := newSpace(t)
	a, b := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	var stats RecvStats
	send, r := NewSender(a, new(SendStats)), NewReceiver(new(Bank), &stats)
	r.bufs[0] = r.bufs[0][:500]
	send.Send(train(at(b, "127.0.0.1"), 1, 501))
	send.Send(train(at(b, "127.0.0.1"), 1, 500))
	if d := receive(t, r, b.Socket(0).fd4); len(d.Data) != 500 {
		t.Errorf("%d bytes", len(d.Data))
	}
	if n := stats.Truncated.Load(); n != 1 {
		t.Errorf("%d truncated, want 1", n)
	}
}

// The error of an earlier send does not prevent that the datagrams in the socket are
// received.
func TestErrorsOfEarlierSends(t *testing.T) {
	s := newSpace(t)
	a, b := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	send, back := NewSender(a, new(SendStats)), NewSender(b, new(SendStats))
	closed := at(b, "127.0.0.1")
	closed = netip.AddrPortFrom(closed.Addr(), closed.Port()^1)
	send.Send(train(closed, 1, 10))
	back.Send(train(at(a, "127.0.0.1"), 1, 10))
	if d := receive(t, NewReceiver(new(Bank), new(RecvStats)), a.Socket(0).fd4); len(d.Data) != 10 {
		t.Errorf("%d bytes", len(d.Data))
	}
}

func TestSendAndReceiveTakeNoMemory(t *testing.T) {
	s := newSpace(t)
	a, b := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	send, r := NewSender(a, new(SendStats)), NewReceiver(new(Bank), new(RecvStats))
	for _, addr := range []string{"127.0.0.1", "::1"} {
		for _, n := range []int{1, 10} {
			tr := train(at(b, addr), n, 1000)
			tr.Tuple = srd.Tuple{Local: srd.UplinkOf(netip.MustParseAddr(addr), 0), Remote: tr.Tuple.Remote}
			fd := fdFor(b, addr)
			var d Datagram
			if got := testing.AllocsPerRun(200, func() { send.Send(tr); one(r, fd, &d) }); got != 0 {
				t.Errorf("%s, %d packets: %v allocations", addr, n, got)
			}
			if len(d.Data) != len(tr.Buf) {
				t.Errorf("%s: %d bytes came", addr, len(d.Data))
			}
		}
	}
}

// One call returns several datagrams, including trains, each with its own addresses, stamp
// and ECN field.
func TestReadTakesSeveral(t *testing.T) {
	s := newSpace(t)
	a, other, b := s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1}), s.open(t, Config{Ports: 1})
	send, second, r := NewSender(a, new(SendStats)), NewSender(other, new(SendStats)), NewReceiver(new(Bank), new(RecvStats))
	sizes := []int{100, 900, 300, 200, 1}
	for i, size := range sizes {
		from, n := send, 1
		if i == 1 {
			from, n = second, 3
		}
		from.Send(train(at(b, "127.0.0.1"), n, size))
	}
	fd := b.Socket(0).fd4
	got, more := r.Read(fd, len(sizes))
	if len(got) != ReadMost || !more {
		t.Fatalf("%d datagrams, more %v", len(got), more)
	}
	for i, d := range got {
		bytes, segment, from := sizes[i], 0, a
		if i == 1 {
			bytes, segment, from = 2*sizes[i]+sizes[i]/2+1, sizes[i], other
		}
		if len(d.Data) != bytes || d.Segment != segment || d.From.Port() != from.Socket(0).Port || d.Local.Addr() != netip.MustParseAddr("127.0.0.1") || d.Stamp == 0 {
			t.Errorf("datagram %d: %d bytes in segments of %d from %s to %s at %d", i, len(d.Data), d.Segment, d.From, d.Local, d.Stamp)
		}
	}
	if got, more = r.Read(fd, 2); len(got) != 1 || more {
		t.Errorf("the last: %d datagrams, more %v", len(got), more)
	}
	if got, more = r.Read(fd, 2); len(got) != 0 || more {
		t.Errorf("behind the last: %d datagrams, more %v", len(got), more)
	}
}
