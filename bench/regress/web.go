package regress

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// fetched has a metric for each answer size. Its value is the number of connections that are
// opened, served and closed in a second.
var fetched = []struct {
	bytes int
	figure
}{
	{1_000, figure{name: "new connections of 1 KB", unit: "1/s"}},
	{20_000, figure{name: "new connections of 20 KB", unit: "1/s"}},
	{200_000, figure{name: "new connections of 200 KB", unit: "1/s"}},
}

const (
	webClients = 32 // number of concurrent clients
	webTime    = 3 * time.Second
	webPort    = 8080
)

var web = scene{
	name: "web", says: "a new TCP connection for each answer, 32 at once, over four spines",
	figures: []figure{fetched[0].figure, fetched[1].figure, fetched[2].figure},
	measure: func(r *run) error {
		f, err := r.tunnelled(fabric.Spec{})
		if err != nil {
			return err
		}
		l, err := f.B(1).Listen("tcp4", netip.AddrPortFrom(tunnel.Inner4(2), webPort).String())
		if err != nil {
			return err
		}
		r.atEnd(l.Close)
		go serve(l)
		for _, x := range fetched {
			n, err := fetch(f.A(1), l.Addr().String(), x.bytes)
			if err != nil {
				return err
			}
			r.set(x.figure, n/webTime.Seconds())
		}
		return nil
	},
}

// serve sends the requested number of bytes on each connection.
func serve(l net.Listener) {
	answer := make([]byte, fetched[len(fetched)-1].bytes)
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			var want [4]byte
			if _, err := io.ReadFull(c, want[:]); err == nil {
				_, _ = c.Write(answer[:min(len(answer), int(binary.BigEndian.Uint32(want[:])))])
			}
		}()
	}
}

// fetch runs webClients clients, each of which opens one connection after another. It returns the
// number of complete answers.
func fetch(from *fabric.Host, to string, size int) (float64, error) {
	var done atomic.Int64
	var all sync.WaitGroup
	errs := make([]error, webClients)
	over := time.Now().Add(webTime)
	for i := range webClients {
		all.Go(func() {
			for time.Now().Before(over) && errs[i] == nil {
				if errs[i] = fetchOne(from, to, size); errs[i] == nil && time.Now().Before(over) {
					done.Add(1)
				}
			}
		})
	}
	all.Wait()
	return float64(done.Load()), errors.Join(errs...)
}

func fetchOne(from *fabric.Host, to string, size int) error {
	c, err := from.Dial("tcp4", to, 10*time.Second)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	if _, err := c.Write(binary.BigEndian.AppendUint32(nil, uint32(size))); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, c)
	if err == nil && n != int64(size) {
		err = io.ErrUnexpectedEOF
	}
	return err
}
