package cloud

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"sync"
	"time"
)

// Port is the TCP port of the load server.
const Port = 5210

// A connection begins with a request of 16 bytes, which describes the load. If it has a positive
// answer size, the client sends requests of requestSize bytes, and the server replies to each with
// an answer of that size. If the answer size is zero, the client sends continuously for the given
// time, and at the end the server reports the number of received bytes and the duration.
const (
	orderSize   = 16
	requestSize = 64
	chunk       = 128 << 10
	mostAnswer  = 1 << 24
	// patience is how long a load may last beyond the requested time.
	patience = 20 * time.Second
)

// mostTime bounds the duration of a load, so that a request from an unknown host cannot occupy a
// connection for days.
const mostTime = 10 * time.Minute

// Serve answers load requests until the listener is closed. A connection that fails does not end
// other connections.
func Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			_ = serve(c)
		}()
	}
}

func serve(c net.Conn) error {
	var order [orderSize]byte
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := io.ReadFull(c, order[:]); err != nil {
		return err
	}
	answer, during := binary.BigEndian.Uint64(order[:]), time.Duration(binary.BigEndian.Uint64(order[8:]))
	if answer > mostAnswer || during < 0 || during > mostTime {
		return errors.New("no order")
	}
	if err := c.SetDeadline(time.Now().Add(during + patience)); err != nil {
		return err
	}
	if answer > 0 {
		return answerAll(c, int(answer))
	}
	return swallow(c, during)
}

func answerAll(c net.Conn, size int) error {
	request, answer := make([]byte, requestSize), make([]byte, size)
	for {
		if _, err := io.ReadFull(c, request); err != nil {
			return err
		}
		if _, err := c.Write(answer); err != nil {
			return err
		}
	}
}

// swallow reads and discards data for the given time.
func swallow(c net.Conn, during time.Duration) error {
	begun, received, buf := time.Now(), uint64(0), make([]byte, chunk)
	if err := c.SetReadDeadline(begun.Add(during)); err != nil {
		return err
	}
	for {
		k, err := c.Read(buf)
		received += uint64(k)
		if err != nil {
			var t net.Error
			if !errors.As(err, &t) || !t.Timeout() {
				return err
			}
			break
		}
	}
	var reply [orderSize]byte
	binary.BigEndian.PutUint64(reply[:], received)
	binary.BigEndian.PutUint64(reply[8:], uint64(time.Since(begun)))
	if _, err := c.Write(reply[:]); err != nil {
		return err
	}
	// The server waits until the client has closed the connection. If the server closed the
	// connection while data is unread, a reset could overtake the report.
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	_, err := io.Copy(io.Discard, c)
	return err
}

// Dial opens a connection to the load server.
type Dial func() (net.Conn, error)

func order(dial Dial, answer int, during time.Duration) (net.Conn, error) {
	c, err := dial()
	if err != nil {
		return nil, err
	}
	var o [orderSize]byte
	binary.BigEndian.PutUint64(o[:], uint64(answer))
	binary.BigEndian.PutUint64(o[8:], uint64(during))
	if err = c.SetDeadline(time.Now().Add(during + patience)); err == nil {
		_, err = c.Write(o[:])
	}
	if err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// Bulk sends over the given number of concurrent connections. Bulk returns the rate in Mbit/s at
// which the server received, from the first connection to the end of the last.
func Bulk(dial Dial, flows int, during time.Duration) (mbit float64, err error) {
	received, ends, errs := make([]uint64, flows), make([]time.Duration, flows), make([]error, flows)
	begun := time.Now()
	var wg sync.WaitGroup
	for i := range flows {
		wg.Go(func() { received[i], ends[i], errs[i] = bulk(dial, begun, during) })
	}
	wg.Wait()
	total := uint64(0)
	for _, n := range received {
		total += n
	}
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	if total == 0 {
		return 0, errors.New("nothing was received")
	}
	return float64(total) * 8 / 1e6 / slices.Max(ends).Seconds(), nil
}

// bulk returns the bytes that the server received, and the time from begun to the end of the
// transfer.
func bulk(dial Dial, begun time.Time, during time.Duration) (received uint64, end time.Duration, err error) {
	c, err := order(dial, 0, during)
	if err != nil {
		return 0, 0, err
	}
	defer c.Close()
	start := time.Since(begun)
	go func() {
		buf := make([]byte, chunk)
		for {
			if _, err := c.Write(buf); err != nil {
				return // the server or the deferred call below has ended it
			}
		}
	}()
	var reply [orderSize]byte
	if _, err := io.ReadFull(c, reply[:]); err != nil {
		return 0, 0, fmt.Errorf("the server's count: %w", err)
	}
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // the data that is still queued is not needed
	}
	received, took := binary.BigEndian.Uint64(reply[:]), time.Duration(binary.BigEndian.Uint64(reply[8:]))
	return received, start + took, nil
}

// Times holds percentiles of response times, in milliseconds.
type Times struct{ P50, P99 float64 }

// Requests sends requests of 64 bytes over one connection. Each request is sent after the answer to
// the previous one, and each answer has the given size.
func Requests(dial Dial, answer int, during time.Duration) (Times, error) {
	c, err := order(dial, answer, during)
	if err != nil {
		return Times{}, err
	}
	defer c.Close()
	request, buf := make([]byte, requestSize), make([]byte, answer)
	var took []float64
	for begun := time.Now(); time.Since(begun) < during; {
		at := time.Now()
		if _, err := c.Write(request); err != nil {
			return Times{}, err
		}
		if _, err := io.ReadFull(c, buf); err != nil {
			return Times{}, fmt.Errorf("an answer: %w", err)
		}
		took = append(took, time.Since(at).Seconds()*1e3)
	}
	slices.Sort(took)
	at := func(q float64) float64 { return took[max(0, int(math.Ceil(q*float64(len(took))))-1)] }
	return Times{at(0.5), at(0.99)}, nil
}
