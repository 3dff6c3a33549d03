package regress

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	steadyFlows   = 64
	steadyPerSec  = 5000
	steadyPacket  = 800 // size of a packet in bytes
	steadyEvery   = time.Millisecond
	steadyPort    = 7200
	steadyHeader  = 16 // the sequence number in its flow, and the time of writing
	steadyWaits   = time.Second
	steadyTurn    = steadyPerSec / int(time.Second/steadyEvery) // packets in each tick
	steadyBuffers = 4 << 20                                     // bytes of the receive buffer, so that only the tunnel loses
)

// steadyLoad consists of small UDP flows, each with its own port and sequence numbers.
type steadyLoad struct {
	out  []net.PacketConn
	in   net.PacketConn
	stop chan struct{}
	once sync.Once
	work sync.WaitGroup

	mu     sync.Mutex
	begun  time.Time
	sent   int
	number [steadyFlows]uint64 // number of the next packet
	newest [steadyFlows]uint64 // largest number that has arrived, plus one
	got    record
	ports  map[int]int
}

// record counts the sent, arrived and lost packets so far.
type record struct {
	sent, arrived, lost, disordered int
	oldest                          time.Duration
}

func startSteady(a, b *fabric.Host) (l *steadyLoad, err error) {
	l = &steadyLoad{stop: make(chan struct{}), begun: time.Now(), ports: map[int]int{}}
	to := netip.AddrPortFrom(tunnel.Inner4(2), steadyPort)
	if l.in, err = b.ListenPacket("udp4", to.String()); err != nil {
		return nil, err
	}
	if err := l.in.(*net.UDPConn).SetReadBuffer(steadyBuffers); err != nil {
		return nil, errors.Join(err, l.in.Close())
	}
	for i := range steadyFlows {
		c, err := a.ListenPacket("udp4", netip.AddrPortFrom(tunnel.Inner4(1), 0).String())
		if err != nil {
			l.close()
			return nil, err
		}
		l.out = append(l.out, c)
		l.ports[c.LocalAddr().(*net.UDPAddr).Port] = i
	}
	l.work.Go(l.receive)
	l.work.Go(func() { l.send(net.UDPAddrFromAddrPort(to)) })
	return l, nil
}

// send writes a few packets each millisecond, one flow after another. If a tick is late, it also
// writes the packets of the missed ticks.
func (l *steadyLoad) send(to net.Addr) {
	buf := make([]byte, steadyPacket)
	next := time.Now()
	for turn := 0; ; next = next.Add(steadyEvery) {
		select {
		case <-l.stop:
			return
		case <-time.After(time.Until(next)):
		}
		for range steadyTurn {
			flow := turn % steadyFlows
			turn++
			l.mu.Lock()
			binary.BigEndian.PutUint64(buf, l.number[flow])
			l.number[flow]++
			l.sent++
			l.mu.Unlock()
			binary.BigEndian.PutUint64(buf[8:], uint64(time.Since(l.begun)))
			_, _ = l.out[flow].WriteTo(buf, to) // a refused packet counts as lost
		}
	}
}

func (l *steadyLoad) receive() {
	buf := make([]byte, steadyPacket)
	for {
		n, from, err := l.in.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil || n < steadyHeader {
			continue
		}
		age := time.Since(l.begun) - time.Duration(binary.BigEndian.Uint64(buf[8:]))
		number := binary.BigEndian.Uint64(buf)
		l.mu.Lock()
		flow, ours := l.ports[from.(*net.UDPAddr).Port]
		if ours {
			l.got.arrived++
			l.got.oldest = max(l.got.oldest, age)
			if number < l.newest[flow] {
				l.got.disordered++
			}
			l.newest[flow] = max(l.newest[flow], number+1)
		}
		l.mu.Unlock()
	}
}

// settle waits until all packets have arrived, but at most for steadyWaits.
func (l *steadyLoad) settle() {
	missing := func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.got.arrived < l.sent
	}
	for end := time.Now().Add(steadyWaits); missing() && time.Now().Before(end); {
		time.Sleep(steadyEvery)
	}
}

// rest ends the load, waits for packets in flight, and returns the packet counts.
func (l *steadyLoad) rest() record {
	l.once.Do(func() { close(l.stop) })
	l.settle()
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.got
	r.sent, r.lost = l.sent, l.sent-r.arrived
	return r
}

func (l *steadyLoad) close() {
	l.once.Do(func() { close(l.stop) })
	for _, c := range l.out {
		c.Close()
	}
	l.in.Close()
	l.work.Wait()
}
