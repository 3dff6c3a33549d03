// Package netspace gives tests network namespaces of their own, without a process
// in them: a namespace lives as long as a thread of the test does.
package netspace

import (
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Space is a network namespace with one thread in it that ends, and the namespace
// with it, when the test does. Sockets and devices made on that thread stay in it.
type Space struct {
	calls chan func()
	tid   int
}

// New makes a namespace, in which lo is up. It needs root.
func New(t testing.TB) *Space {
	t.Helper()
	s := &Space{calls: make(chan func())}
	entered := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread is thrown away
		err := unix.Unshare(unix.CLONE_NEWNET)
		s.tid = unix.Gettid()
		entered <- err
		if err != nil {
			return
		}
		for call := range s.calls {
			call()
		}
	}()
	if err := <-entered; err != nil {
		t.Fatalf("a network namespace needs root: %v", err)
	}
	t.Cleanup(func() { close(s.calls) })
	s.Must(t, trustAddresses)
	s.Must(t, raiseLoopback)
	return s
}

// trustAddresses has the kernel not look for doubles of IPv6 addresses. That takes a second or
// two, and longer on a busy machine; until then links have no address of their own to ask
// for neighbours from, and a packet waits no longer than three.
func trustAddresses() error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0)
}

// raiseLoopback sets lo up, whereupon the kernel gives it its addresses.
func raiseLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// Thread returns the number of the thread, which is a name of the namespace: the
// kernel takes it wherever it takes a process in the namespace.
func (s *Space) Thread() int { return s.tid }

// Do runs f in the namespace. Calls from several goroutines take turns.
func (s *Space) Do(f func() error) error {
	done := make(chan error)
	s.calls <- func() { done <- f() }
	return <-done
}

// Must is Do for what cannot fail.
func (s *Space) Must(t testing.TB, f func() error) {
	t.Helper()
	if err := s.Do(f); err != nil {
		t.Fatal(err)
	}
}
