// Package netspace makes network namespaces for tests. No process needs to be in such a
// namespace: it exists as long as a thread of the test is in it.
package netspace

import (
	"os"
	"runtime"
	"testing"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Space is a network namespace with one thread in it. Thread and namespace end with the test.
// Sockets and devices that this thread makes are in the namespace.
type Space struct {
	calls chan func()
	tid   int
}

// New creates a namespace and brings its loopback interface up. New needs root.
func New(t testing.TB) *Space {
	t.Helper()
	s := &Space{calls: make(chan func())}
	entered := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked, so the thread ends with its goroutine
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

// trustAddresses turns off duplicate address detection for IPv6. The detection takes a second or
// two, or longer on a busy machine. Until it ends, a link has no address for neighbour
// discovery, and a packet that needs it is dropped after three seconds.
func trustAddresses() error {
	return os.WriteFile("/proc/sys/net/ipv6/conf/default/accept_dad", []byte("0"), 0)
}

// raiseLoopback brings lo up. The kernel then adds the addresses of lo.
func raiseLoopback() error {
	lo, err := netlink.LinkByName("lo")
	if err != nil {
		return err
	}
	return netlink.LinkSetUp(lo)
}

// Thread returns the thread's number, which identifies the namespace. The kernel accepts this
// number in place of the number of a process in the namespace.
func (s *Space) Thread() int { return s.tid }

// Do runs f in the namespace. Calls from several goroutines run one after the other.
func (s *Space) Do(f func() error) error {
	done := make(chan error)
	s.calls <- func() { done <- f() }
	return <-done
}

// Must is like Do, for calls that must not fail.
func (s *Space) Must(t testing.TB, f func() error) {
	t.Helper()
	if err := s.Do(f); err != nil {
		t.Fatal(err)
	}
}
