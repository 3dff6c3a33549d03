package blackhole

import (
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

// traceEvery is the interval between two readings of a trace. It is shorter than the tunnel's round
// trip under load, and the readings use a few thousandths of a processor's time.
const traceEvery = 10 * time.Millisecond

// around is the number of readings that are printed before and after each reading with a loss.
const around = 12

// look is one reading of a trace: the state of both daemons and of the first inner connection. The
// counters in a reading are totals since the start of the processes.
type look struct {
	at       time.Time
	queue    uint64 // bytes in the tunnel's ingress queue
	window   uint64 // congestion window of the tunnel, in bytes
	inflight uint64
	repaired uint64            // messages that the tunnel retransmitted
	drops    map[string]uint64 // drops of the sender, by reason
	held     uint64            // bytes that wait for order at the receiver
	released uint64            // gaps that the receiver gave up
	late     map[string]uint64 // drops of the receiver, by reason
	down     int               // paths of the sender that are not in use
	tcp      unix.TCPInfo
}

// trace is a series of readings at a fixed interval.
type trace struct {
	over  chan struct{}
	done  sync.WaitGroup
	mu    sync.Mutex
	looks []look
	err   error
}

// watch begins a trace of two daemons and of a connection's sender.
func watch(a, b *tunnel.Node, conn net.Conn) *trace {
	t := &trace{over: make(chan struct{})}
	t.done.Go(func() {
		tick := time.NewTicker(traceEvery)
		defer tick.Stop()
		for {
			select {
			case <-t.over:
				return
			case <-tick.C:
				l, err := see(a, b, conn)
				t.mu.Lock()
				t.looks, t.err = append(t.looks, l), err
				t.mu.Unlock()
				if err != nil {
					return
				}
			}
		}
	})
	return t
}

// stop ends the trace and returns an error if the trace had ended early.
func (t *trace) stop() error {
	close(t.over)
	t.done.Wait()
	return t.err
}

// see takes one reading of a trace.
func see(a, b *tunnel.Node, conn net.Conn) (l look, err error) {
	l.at = time.Now()
	if raw, ok := conn.(syscall.Conn); ok {
		c, err := raw.SyscallConn()
		if err != nil {
			return l, err
		}
		var info *unix.TCPInfo
		var failed error
		if err := c.Control(func(fd uintptr) {
			info, failed = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		}); err != nil {
			return l, err
		}
		if failed != nil {
			return l, failed
		}
		l.tcp = *info
	}
	p, err := peerOf(a)
	if err != nil {
		return l, err
	}
	l.queue, l.window, l.inflight, l.repaired, l.drops = p.Queue.Bytes, p.CwndBytes, p.BytesInFlight, p.Messages.Retransmitted, p.Drops
	for _, q := range p.Paths {
		if q.State != control.PathActive {
			l.down++
		}
	}
	if p, err = peerOf(b); err != nil {
		return l, err
	}
	l.held, l.released, l.late = p.Order.HeldBytes, p.Order.ReleasedByTimeout, p.Drops
	return l, nil
}

// peerOf queries a daemon for its only peer over the control socket. Starting a separate program
// for each reading would add load.
func peerOf(n *tunnel.Node) (*control.Peer, error) {
	c, err := control.Dial(rundir.Place{Device: n.Name})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	s, err := c.Show()
	if err != nil {
		return nil, err
	}
	if len(s.Peers) != 1 {
		return nil, fmt.Errorf("%s has %d peers", n.Name, len(s.Peers))
	}
	return &s.Peers[0], nil
}

// between returns the readings of a time span.
func (t *trace) between(from, to time.Time) (v []look) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.looks {
		if !l.at.Before(from) && l.at.Before(to) {
			v = append(v, l)
		}
	}
	return v
}

// tell prints the readings around each segment that TCP retransmitted in a time span. It also
// prints which window limited the flow. The argument `died` is the time at which the spine failed.
func (t *trace) tell(w io.Writer, from, died, to time.Time) {
	v := t.between(from, to)
	if len(v) < 2 {
		return
	}
	until := -1 // index of the last printed reading
	for i := 1; i < len(v); i++ {
		if v[i].tcp.Total_retrans == v[i-1].tcp.Total_retrans {
			continue
		}
		first := max(i-around, until+1)
		until = min(i+around, len(v)-1)
		for k := first; k <= until; k++ {
			fmt.Fprintf(w, "  %7.1f ms: %v\n", v[k].at.Sub(died).Seconds()*1e3, v[k].since(&v[max(k-1, 0)]))
		}
	}
	fmt.Fprintf(w, "  while dead: %s\n", sumUp(t.between(died, to)))
}

// since describes a reading, and the changes since an earlier reading.
func (l *look) since(was *look) string {
	s := fmt.Sprintf("queue %4d KB, tunnel %4d of %4d KB, held %4d KB, paths out %2d, repaired %2d; TCP: cwnd %4d, unacked %4d, rtt %5.1f ms, state %d",
		l.queue>>10, l.inflight>>10, l.window>>10, l.held>>10, l.down, l.repaired-was.repaired,
		l.tcp.Snd_cwnd, l.tcp.Unacked, float64(l.tcp.Rtt)/1e3, l.tcp.Ca_state)
	return s + grown(l.counted(), was.counted()) + grown(l.drops, was.drops) + grown(l.late, was.late)
}

// counted returns the loss and fault counters of the connection and of the receiver.
func (l *look) counted() map[string]uint64 {
	return map[string]uint64{
		"sent_again":        uint64(l.tcp.Total_retrans),
		"duplicate_sack":    uint64(l.tcp.Dsack_dups),
		"timeout":           uint64(l.tcp.Total_rto),
		"reordering_seen":   uint64(l.tcp.Reord_seen),
		"order_gaps_let_go": l.released,
	}
}

// grown lists the counters that have increased.
func grown(now, was map[string]uint64) (s string) {
	var names []string
	for name, n := range now {
		if n > was[name] {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		s += fmt.Sprintf(", %s %+d", name, now[name]-was[name])
	}
	return s
}

// sumUp reports which window limited a connection during a time span. If the tunnel's ingress queue
// is empty, the inner connection's own window is the limit. The text also has the share of readings
// in which the queue was empty, and the share in which the tunnel's window was full.
func sumUp(v []look) string {
	if len(v) < 2 {
		return "no looks"
	}
	var empty, full, queue, held, rtt, cwnd int
	for _, l := range v {
		if l.queue == 0 {
			empty++
		}
		if l.inflight+l.inflight/8 >= l.window {
			full++
		}
		queue, held, rtt, cwnd = queue+int(l.queue), held+int(l.held), rtt+int(l.tcp.Rtt), cwnd+int(l.tcp.Snd_cwnd)
	}
	n, first, last := len(v), &v[0].tcp, &v[len(v)-1].tcp
	d := v[n-1].at.Sub(v[0].at)
	return fmt.Sprintf("queue empty %d %%, tunnel's window full %d %%; means: queue %d KB, held %d KB, rtt %.1f ms, cwnd %d; limited by the receiver's window %.0f %%, send buffer %.0f %%; repaired %d/s",
		100*empty/n, 100*full/n, queue/n>>10, held/n>>10, float64(rtt/n)/1e3, cwnd/n,
		float64(last.Rwnd_limited-first.Rwnd_limited)/1e4/d.Seconds(), float64(last.Sndbuf_limited-first.Sndbuf_limited)/1e4/d.Seconds(),
		int(float64(v[n-1].repaired-v[0].repaired)/d.Seconds()))
}
