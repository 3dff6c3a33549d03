package meter

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// requestBytes is the size of a request and of its answer in bytes.
const requestBytes = 64

// Latency is the distribution of the response times of small requests.
type Latency struct {
	N             int
	P50, P99, Max time.Duration
}

// String returns the latencies as one line for a test log.
func (l Latency) String() string {
	ms := func(d time.Duration) float64 { return float64(d) / 1e6 }
	return fmt.Sprintf("%d requests: p50 %.2f ms, p99 %.2f ms, max %.1f ms", l.N, ms(l.P50), ms(l.P99), ms(l.Max))
}

// Requests sends requests of 64 bytes over a TCP connection for the given time. Each request
// follows the previous answer after a pause.
func Requests(server, client *fabric.Host, at netip.Addr, pause, during time.Duration) (Latency, error) {
	l, err := server.Listen("tcp", netip.AddrPortFrom(at, 0).String())
	if err != nil {
		return Latency{}, err
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, c)
	}()
	c, err := client.Dial("tcp", l.Addr().String(), 10*time.Second)
	if err != nil {
		return Latency{}, err
	}
	defer c.Close()
	var took []time.Duration
	buf := make([]byte, requestBytes)
	for end := time.Now().Add(during); time.Now().Before(end); time.Sleep(pause) {
		start := time.Now()
		if err := c.SetDeadline(start.Add(10 * time.Second)); err != nil {
			return Latency{}, err
		}
		if _, err := c.Write(buf); err != nil {
			return Latency{}, err
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			return Latency{}, err
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return Latency{len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1]}, nil
}

// beatEvery is the interval between the datagrams of a Heartbeat, and so the precision of its
// times.
const beatEvery = 10 * time.Millisecond

// Heartbeat sends numbered datagrams to an echo server, and records when the answers arrive. A
// Heartbeat continues even if its addresses and routes disappear.
type Heartbeat struct {
	to    netip.AddrPort
	out   net.PacketConn
	echo  net.PacketConn
	begun time.Time
	last  atomic.Int64 // the time of the newest answer, after begun
	stop  chan struct{}
}

// StartHeartbeat starts a Heartbeat between two addresses inside a tunnel.
func StartHeartbeat(client, server *fabric.Host, from, to netip.Addr) (*Heartbeat, error) {
	h := &Heartbeat{begun: time.Now(), stop: make(chan struct{})}
	var err error
	if h.echo, err = server.ListenPacket("udp", netip.AddrPortFrom(to, 0).String()); err != nil {
		return nil, err
	}
	if h.out, err = client.ListenPacket("udp", netip.AddrPortFrom(from, 0).String()); err != nil {
		h.echo.Close()
		return nil, err
	}
	h.to = netip.AddrPortFrom(to, uint16(h.echo.LocalAddr().(*net.UDPAddr).Port))
	go Answer(h.echo)
	go h.listen()
	go h.send()
	return h, nil
}

// Answer echoes datagrams until the socket is closed. Answer ignores other errors, because they
// come from a route that is missing for a moment.
func Answer(c net.PacketConn) {
	buf := make([]byte, 64)
	for {
		n, from, err := c.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			_, _ = c.WriteTo(buf[:n], from)
		}
	}
}

func (h *Heartbeat) listen() {
	buf := make([]byte, 64)
	for {
		n, _, err := h.out.ReadFrom(buf)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Only the newest sending time counts, because an old answer may arrive late.
		if err == nil && n >= 8 {
			h.last.Store(max(h.last.Load(), int64(binary.BigEndian.Uint64(buf))))
		}
	}
}

func (h *Heartbeat) send() {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	buf := make([]byte, 16)
	for {
		select {
		case <-h.stop:
			return
		case <-tick.C:
			binary.BigEndian.PutUint64(buf, uint64(time.Since(h.begun)))
			_, _ = h.out.WriteTo(buf, net.UDPAddrFromAddrPort(h.to))
		}
	}
}

// AnswerAfter waits, at most limit, for the answer to a datagram that was sent after t. The
// result is the time from t until that datagram was sent: the time without traffic in both
// directions.
func (h *Heartbeat) AnswerAfter(t time.Time, limit time.Duration) (time.Duration, error) {
	after := int64(t.Sub(h.begun))
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(beatEvery) {
		if last := h.last.Load(); last > after {
			return time.Duration(last - after), nil
		}
	}
	return limit, fmt.Errorf("no answer within %v", limit)
}

// Close stops the Heartbeat, and closes its sockets.
func (h *Heartbeat) Close() {
	close(h.stop)
	h.out.Close()
	h.echo.Close()
}
