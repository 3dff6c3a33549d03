package daemon

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/srd"
)

// listed contains the addresses of the entries of paths.local. Packets are sent and received
// only at listed addresses. A peer may use an address that was removed from the file, or call an
// unlisted one, but gets no reply from there. Methods of listed are safe for concurrent use.
type listed struct {
	addrs atomic.Pointer[[]netip.Addr] // nil: paths.local is empty, and all may

	mu     sync.Mutex
	called []netip.Addr // others that packets came to, not told yet and told
	told   int          // of called
}

// calledMost bounds the number of unlisted addresses that are reported. A host has fewer
// unlisted addresses.
const calledMost = 64

// set stores the addresses of all entries of paths.local, and reports whether they changed. If
// paths.local is empty, the parameter all is nil.
func (l *listed) set(all [][]srd.Uplink) (changed bool) {
	var next *[]netip.Addr
	if len(all) > 0 {
		next = &[]netip.Addr{}
	}
	for _, entry := range all {
		for _, u := range entry {
			if a := u.Addr().WithZone(""); !slices.Contains(*next, a) {
				*next = append(*next, a)
			}
		}
	}
	before := l.addrs.Load()
	if (before == nil) == (next == nil) && (next == nil || slices.Equal(*before, *next)) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.addrs.Store(next)
	l.called, l.told = nil, 0
	return true
}

// has reports whether packets may be sent and received at address a. The method has is fast
// enough to be called for each packet.
func (l *listed) has(a netip.Addr) bool {
	v := l.addrs.Load()
	return v == nil || slices.Contains(*v, a.WithZone(""))
}

// bars reports whether packets to an address are dropped, because the address is not listed. The
// method bars records the dropped address for a report.
func (l *listed) bars(a netip.Addr) bool {
	if l.has(a) {
		return false
	}
	// If another goroutine holds the lock, a later packet will record the address.
	if l.mu.TryLock() {
		if a = a.WithZone(""); len(l.called) < calledMost && !slices.Contains(l.called, a) {
			l.called = append(l.called, a)
		}
		l.mu.Unlock()
	}
	return true
}

// news returns the unlisted addresses recorded since the last call.
func (l *listed) news() []netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := slices.Clone(l.called[l.told:])
	l.told = len(l.called)
	return v
}
