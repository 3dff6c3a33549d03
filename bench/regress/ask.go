package regress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	askPort  = 11111
	askBytes = 64
)

// dialogue is a TCP connection that carries requests and answers of askBytes each. Both ends are
// threads that block in the kernel, because Go's poller would add its own wake-ups to each request.
type dialogue struct {
	asks, answers *os.File
}

// dialogue connects a client to a server, and starts the goroutine that answers at the server.
func (r *run) dialogue(client, server *fabric.Host, to netip.Addr) (d *dialogue, err error) {
	l, err := server.Listen("tcp4", netip.AddrPortFrom(to, askPort).String())
	if err != nil {
		return nil, err
	}
	defer l.Close()
	c, err := client.Dial("tcp4", l.Addr().String(), 10*time.Second)
	if err != nil {
		return nil, err
	}
	a, err := l.Accept()
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	d = &dialogue{}
	if d.asks, err = waiting(c); err != nil {
		return nil, err
	}
	r.atEnd(d.asks.Close)
	if d.answers, err = waiting(a); err != nil {
		return nil, err
	}
	go d.answer()
	return d, nil
}

// waiting converts a connection to a file whose reads and writes block in the kernel.
func waiting(c net.Conn) (*os.File, error) {
	defer c.Close()
	f, err := c.(*net.TCPConn).File()
	if err != nil {
		return nil, err
	}
	return f, unix.SetNonblock(int(f.Fd()), false)
}

// answer echoes each request until the client closes the connection.
func (d *dialogue) answer() {
	runtime.LockOSThread()
	defer d.answers.Close()
	b := make([]byte, askBytes)
	for fd := int(d.answers.Fd()); exchange(fd, b, unix.Read) == nil; {
		if exchange(fd, b, unix.Write) != nil {
			return
		}
	}
}

// ask sends requests one after another, and returns each response time in microseconds.
func (d *dialogue) ask(during time.Duration) (us []float64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	b := make([]byte, askBytes)
	fd := int(d.asks.Fd())
	for begun := time.Now(); ; {
		at := time.Now()
		if at.Sub(begun) > during {
			return us, nil
		}
		if err = errors.Join(exchange(fd, b, unix.Write), exchange(fd, b, unix.Read)); err != nil {
			return us, fmt.Errorf("request: %w", err)
		}
		us = append(us, float64(time.Since(at).Nanoseconds())/1e3)
	}
}

// exchange reads or writes all bytes of b.
func exchange(fd int, b []byte, call func(int, []byte) (int, error)) error {
	for len(b) > 0 {
		n, err := call(fd, b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return net.ErrClosed
		default:
			b = b[n:]
		}
	}
	return nil
}

// ran returns the processor time that all threads of both daemons have used so far, in
// microseconds.
func ran(p *tunnel.Pair) (us float64, err error) {
	for _, n := range []*tunnel.Node{p.A, p.B} {
		d, e := fabric.RanOf(n.Pid())
		us, err = us+float64(d.Nanoseconds())/1e3, errors.Join(err, e)
	}
	return us, err
}
