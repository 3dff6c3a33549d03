package cloud

import (
	"net"
	"testing"
	"time"
)

func listen(t *testing.T) Dial {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() { _ = Serve(l) }()
	return func() (net.Conn, error) { return net.Dial("tcp", l.Addr().String()) }
}

func TestLoads(t *testing.T) {
	dial := listen(t)
	mbit, err := Bulk(dial, 3, 50*time.Millisecond)
	if err != nil || mbit <= 0 {
		t.Errorf("bulk: %v, %v", mbit, err)
	}
	for _, size := range []int{1, 64, 1 << 16} {
		p, err := Requests(dial, size, 20*time.Millisecond)
		if err != nil || p.P50 <= 0 || p.P99 < p.P50 {
			t.Errorf("requests for %d bytes: %+v, %v", size, p, err)
		}
	}
}

// If a client sends an invalid request, the server closes the connection and continues.
func TestServerRefusesNonsense(t *testing.T) {
	dial := listen(t)
	for _, order := range []string{"GET / HTTP/1.1\r\n", "\xff\xff\xff\xff\xff\xff\xff\xff0000000\x00", "\x00\x00\x00\x00\x00\x00\x00\x01\xff0000000"} {
		c, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte(order)); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(patience / 2)); err != nil {
			t.Fatal(err)
		}
		if k, err := c.Read(make([]byte, 1)); k != 0 || err == nil {
			t.Errorf("%q is answered", order)
		} else if e, ok := err.(net.Error); ok && e.Timeout() {
			t.Errorf("%q keeps its connection", order)
		}
	}
	if _, err := Bulk(dial, 1, 20*time.Millisecond); err != nil {
		t.Error(err)
	}
}

func TestRequestsFailWithTheServer(t *testing.T) {
	a, b := net.Pipe()
	b.Close()
	if _, err := Requests(func() (net.Conn, error) { return a, nil }, 1, time.Millisecond); err == nil {
		t.Error("no error without a server")
	}
}
