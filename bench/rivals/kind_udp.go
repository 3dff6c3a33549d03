package rivals

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/srdtun/srdtun/bench/sockperf"
	"github.com/srdtun/srdtun/lab/stat"
)

// udpSockets uses the UDP sockets of Go's package net, without a transport protocol above UDP.
var udpSockets = kind{"udp", "Go's UDP sockets", func(*bench, *site) (*link, error) { return &link{echo: true}, nil }}

const (
	echoPort = 5211
	// echoBytes is the size, in bytes, of a request and of its answer.
	echoBytes = 64
	// echoWait is the time to wait for an answer. A lost datagram ends the measurement with an
	// error.
	echoWait = 2 * time.Second
	// echoReady is the line that the server prints when it is ready.
	echoReady = "ready"
)

// echoAll runs the subcommand "bench messages echo ADDR", which answers each datagram with the same
// bytes. The echo server is a separate process, like the peer of a real program.
func echoAll(text string) error {
	addr, err := netip.ParseAddr(text)
	if err != nil {
		return err
	}
	c, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(addr, echoPort)))
	if err != nil {
		return err
	}
	defer c.Close()
	fmt.Fprintln(os.Stderr, echoReady)
	for buf := make([]byte, echoBytes); ; {
		n, from, err := c.ReadFromUDPAddrPort(buf)
		if err != nil {
			return err
		}
		if _, err := c.WriteToUDPAddrPort(buf[:n], from); err != nil {
			return err
		}
	}
}

// udpRequests sends datagrams from host A to host B, each after the answer to the previous one.
func udpRequests(s *site, during time.Duration) (p sockperf.Percentiles, err error) {
	self, err := os.Executable()
	if err != nil {
		return p, err
	}
	server, err := s.b.Start(self, "messages", "echo", s.b.Addr4().String())
	if err != nil {
		return p, err
	}
	defer server.Kill()
	for deadline := time.Now().Add(tunnelWait); !strings.Contains(server.Log.String(), echoReady); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			return p, fmt.Errorf("the echo server does not start: %s", server.Log.String())
		}
	}
	c, err := s.a.Dial("udp", netip.AddrPortFrom(s.b.Addr4(), echoPort).String(), echoWait)
	if err != nil {
		return p, err
	}
	defer c.Close()
	us, err := askAndWait(c, during)
	if err != nil {
		return p, err
	}
	return sockperf.Percentiles{P50: stat.Quantile(us, 0.5), P99: stat.Quantile(us, 0.99)}, nil
}

// askAndWait sends requests for the given time, and returns the round trips in microseconds.
func askAndWait(c net.Conn, during time.Duration) (us []float64, err error) {
	request, answer := make([]byte, echoBytes), make([]byte, echoBytes)
	begun := time.Now()
	if err := c.SetReadDeadline(begun.Add(during + echoWait)); err != nil {
		return nil, err
	}
	for at := begun; at.Sub(begun) < during; {
		if _, err := c.Write(request); err != nil {
			return nil, err
		}
		if _, err := c.Read(answer); err != nil {
			return nil, err
		}
		now := time.Now()
		us, at = append(us, float64(now.Sub(at))/float64(time.Microsecond)), now
	}
	if len(us) == 0 {
		return nil, errors.New("no datagram was answered")
	}
	return us, nil
}
