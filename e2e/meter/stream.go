package meter

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// Stream sends numbered datagrams one way, with their sending times, and records their ages at
// arrival. Both ends of a Stream use the same clock.
type Stream struct {
	out, in net.PacketConn
	to      net.Addr
	begun   time.Time
	stop    chan struct{}
	quiet   sync.Once // closes the channel stop
	sending sync.WaitGroup
	done    sync.WaitGroup

	mu    sync.Mutex
	sent  uint64
	seen  map[uint64]bool
	tally Tally
	came  [][2]time.Duration // when datagrams were written and when they arrived, after begun
}

// Tally holds the counts of a Stream.
type Tally struct {
	Sent, Arrived, Twice, Disordered int
	Oldest                           time.Duration // largest age at arrival
}

// StartStream starts a Stream between two addresses inside a tunnel.
func StartStream(client, server *fabric.Host, from, to netip.Addr, every time.Duration) (*Stream, error) {
	s := &Stream{begun: time.Now(), stop: make(chan struct{}), seen: map[uint64]bool{}}
	var err error
	if s.in, err = server.ListenPacket("udp", netip.AddrPortFrom(to, 0).String()); err != nil {
		return nil, err
	}
	if s.out, err = client.ListenPacket("udp", netip.AddrPortFrom(from, 0).String()); err != nil {
		s.in.Close()
		return nil, err
	}
	s.to = net.UDPAddrFromAddrPort(netip.AddrPortFrom(to, uint16(s.in.LocalAddr().(*net.UDPAddr).Port)))
	s.done.Go(s.listen)
	s.sending.Go(func() { s.send(every) })
	return s, nil
}

// streamBytes is the size of a datagram in bytes.
const streamBytes = 200

func (s *Stream) send(every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	buf := make([]byte, streamBytes)
	for {
		select {
		case <-s.stop:
			return
		case <-tick.C:
			s.mu.Lock()
			binary.BigEndian.PutUint64(buf, s.sent)
			s.sent++
			s.mu.Unlock()
			binary.BigEndian.PutUint64(buf[8:], uint64(time.Since(s.begun)))
			_, _ = s.out.WriteTo(buf, s.to) // errors are ignored, because a route may be missing for a moment
		}
	}
}

func (s *Stream) listen() {
	buf := make([]byte, 2*streamBytes)
	var newest uint64
	for {
		n, _, err := s.in.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n < 16 {
			continue
		}
		at, now := time.Duration(binary.BigEndian.Uint64(buf[8:])), time.Since(s.begun)
		number := binary.BigEndian.Uint64(buf)
		s.mu.Lock()
		if s.seen[number] {
			s.tally.Twice++
		}
		if number < newest {
			s.tally.Disordered++
		}
		newest = max(newest, number)
		s.seen[number] = true
		s.tally.Arrived++
		s.tally.Oldest = max(s.tally.Oldest, now-at)
		s.came = append(s.came, [2]time.Duration{at, now})
		s.mu.Unlock()
	}
}

// Tally returns the current counts of the Stream.
func (s *Stream) Tally() Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tally
	t.Sent = int(s.sent)
	return t
}

// FirstAfter returns the time from t until the arrival of the first datagram that was also sent
// after t. If no such datagram arrived, FirstAfter returns a very long time.
func (s *Stream) FirstAfter(t time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	after := t.Sub(s.begun)
	for _, c := range s.came {
		if c[0] >= after {
			return c[1] - after
		}
	}
	return time.Hour
}

// LongestGap returns the longest time between two arrivals in the given period.
func (s *Stream) LongestGap(from, to time.Time) (most time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, end := from.Sub(s.begun), to.Sub(s.begun)
	for _, c := range s.came {
		if c[1] < last {
			continue
		}
		if c[1] > end {
			break
		}
		most, last = max(most, c[1]-last), c[1]
	}
	return max(most, end-last)
}

// Rest stops the sender, and returns the counts. Rest first waits until all datagrams have
// arrived, or none has arrived for the time patience.
func (s *Stream) Rest(patience time.Duration) Tally {
	s.quiet.Do(func() { close(s.stop) })
	s.sending.Wait()
	t := s.Tally()
	for waited := time.Duration(0); t.Arrived < t.Sent && waited < patience; waited += restPoll {
		time.Sleep(restPoll)
		if now := s.Tally(); now.Arrived > t.Arrived {
			t, waited = now, 0
		}
	}
	return t
}

const restPoll = 10 * time.Millisecond

// Close stops the Stream, and closes its sockets.
func (s *Stream) Close() {
	s.quiet.Do(func() { close(s.stop) })
	s.sending.Wait()
	s.out.Close()
	s.in.Close()
	s.done.Wait()
}
