package main

import (
	"fmt"
	"net"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// One chunk in each pause makes 20 Mbit/s, and leaves enough processor time for systemd.
	chunk = 5000
	pause = 2 * time.Millisecond
	// dialMost bounds the time for a connection through the tunnel.
	dialMost = 20 * time.Second
)

// far calls f in the network namespace of the other host.
func far(f func() error) error {
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with the goroutine
		ns, err := os.Open("/run/netns/far")
		if err == nil {
			defer ns.Close()
			err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		}
		if err == nil {
			err = f()
		}
		done <- err
	}()
	return <-done
}

// stream is a TCP connection through the tunnel with constant traffic in one direction.
type stream struct {
	name     string
	from, to net.Conn
	longest  atomic.Int64 // longest time in ns without received bytes, since the last stall call
	received atomic.Int64
	failed   atomic.Pointer[error]
}

// connect opens a connection from the other host to an address of this host.
func connect(addr string) (there, here net.Conn, err error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	defer l.Close()
	err = far(func() (err error) {
		there, err = net.DialTimeout("tcp", l.Addr().String(), dialMost)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	here, err = l.Accept()
	return there, here, err
}

func (s *stream) start() {
	go func() {
		data := make([]byte, chunk)
		for {
			if _, err := s.from.Write(data); err != nil {
				s.failed.CompareAndSwap(nil, &err)
				return
			}
			time.Sleep(pause)
		}
	}()
	go func() {
		data := make([]byte, 1<<16)
		last := time.Now()
		for {
			n, err := s.to.Read(data)
			now := time.Now()
			s.longest.Store(max(s.longest.Load(), int64(now.Sub(last))))
			last = now
			s.received.Add(int64(n))
			if err != nil {
				s.failed.CompareAndSwap(nil, &err)
				return
			}
		}
	}()
}

// stall returns the longest time between received bytes since the previous call of stall.
func (s *stream) stall() time.Duration { return time.Duration(s.longest.Swap(0)) }

// flows waits until the stream receives new bytes, or returns its error. If the device was
// missing for seconds, TCP waits for about as long before its next attempt.
func (s *stream) flows() error {
	before := s.received.Load()
	for range 4000 {
		if e := s.failed.Load(); e != nil {
			return fmt.Errorf("%s: %w", s.name, *e)
		}
		if s.received.Load() > before+10*chunk {
			return nil
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("%s: nothing comes", s.name)
}

// load starts a TCP stream in each direction.
func load() ([]*stream, error) {
	var all []*stream
	for _, name := range []string{"towards the restarted host", "from the restarted host"} {
		there, here, err := connect("10.9.0.1:0")
		if err != nil {
			return nil, err
		}
		s := &stream{name: name, from: there, to: here}
		if len(all) > 0 {
			s.from, s.to = here, there
		}
		s.start()
		all = append(all, s)
	}
	return all, nil
}
