package meter

import (
	"io"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// transferLimit bounds the time of one transfer, including the connection setup.
const transferLimit = 30 * time.Second

// Transfers sends size bytes from client to server, count times. Each transfer follows a pause,
// and has its own TCP connection. The time of a transfer is from the first write on the open
// connection until the server has read the last byte.
func Transfers(server, client *fabric.Host, at netip.Addr, size, count int, pause time.Duration) (Latency, error) {
	l, err := server.Listen("tcp", netip.AddrPortFrom(at, 0).String())
	if err != nil {
		return Latency{}, err
	}
	defer l.Close()
	ended := make(chan time.Time, count)
	go receive(l, int64(size), ended)
	var took []time.Duration
	for range count {
		time.Sleep(pause)
		d, err := transfer(client, l.Addr().String(), make([]byte, size), ended)
		if err != nil {
			return Latency{}, err
		}
		took = append(took, d)
	}
	slices.Sort(took)
	return Latency{len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1]}, nil
}

// receive accepts connections, reads size bytes from each, and reports the time of the last byte.
// A zero time means that fewer than size bytes arrived.
func receive(l net.Listener, size int64, ended chan<- time.Time) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		n, _ := io.CopyN(io.Discard, c, size)
		at := time.Now()
		if n < size {
			at = time.Time{}
		}
		ended <- at
		c.Close()
	}
}

func transfer(client *fabric.Host, to string, data []byte, ended <-chan time.Time) (time.Duration, error) {
	c, err := client.Dial("tcp", to, transferLimit)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	start := time.Now()
	if err := c.SetDeadline(start.Add(transferLimit)); err != nil {
		return 0, err
	}
	if _, err := c.Write(data); err != nil {
		return 0, err
	}
	select {
	case at := <-ended:
		if at.IsZero() {
			return 0, io.ErrUnexpectedEOF
		}
		return at.Sub(start), nil
	case <-time.After(transferLimit):
		return 0, io.ErrNoProgress
	}
}
