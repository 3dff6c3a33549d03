package daemon

import (
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/srd"
)

// listed contains the uplinks of the entries of paths.local. Packets are sent and received only
// at listed uplinks. A peer may send to an uplink that was removed from the file, or begin a
// handshake with an unlisted one, but gets no reply from there. Methods of listed are safe for
// concurrent use.
type listed struct {
	uplinks atomic.Pointer[[]srd.Uplink] // nil: paths.local is empty, so all uplinks are listed

	mu     sync.Mutex
	called []netip.Addr // unlisted addresses that received packets, the reported ones first
	told   int          // number of addresses in the field called that were reported
}

// calledMost bounds the number of unlisted addresses that are reported. A host has fewer
// unlisted addresses.
const calledMost = 64

// set stores the uplinks of all entries of paths.local, and reports whether they changed. If
// paths.local is empty, the parameter `all` is nil.
func (l *listed) set(all [][]srd.Uplink) (changed bool) {
	var next *[]srd.Uplink
	if len(all) > 0 {
		next = &[]srd.Uplink{}
	}
	for _, entry := range all {
		for _, u := range entry {
			if !slices.Contains(*next, u) {
				*next = append(*next, u)
			}
		}
	}
	before := l.uplinks.Load()
	if (before == nil) == (next == nil) && (next == nil || slices.Equal(*before, *next)) {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.uplinks.Store(next)
	l.called, l.told = nil, 0
	return true
}

// has reports whether packets may be sent and received at u. If entries name interfaces, an address
// that several interfaces have is listed only at the named interfaces. A link-local address is
// listed at any interface, because its entry names none. The method has() is fast enough to be
// called for each packet.
func (l *listed) has(u srd.Uplink) bool {
	v := l.uplinks.Load()
	if v == nil || slices.Contains(*v, u) {
		return true
	}
	a := u.Addr()
	return a.IsLinkLocalUnicast() && slices.ContainsFunc(*v, func(w srd.Uplink) bool { return w.Addr() == a })
}

// names reports whether address a is listed at an interface.
func (l *listed) names(a netip.Addr) bool {
	v := l.uplinks.Load()
	return v != nil && slices.ContainsFunc(*v, func(w srd.Uplink) bool { return w.Addr() == a })
}

// bars reports whether packets to u are dropped, because u is not listed. The method bars()
// records the dropped address for a report.
func (l *listed) bars(u srd.Uplink) bool {
	if l.has(u) {
		return false
	}
	// If another goroutine holds the lock, a later packet will record the address.
	if l.mu.TryLock() {
		if a := u.Addr(); len(l.called) < calledMost && !slices.Contains(l.called, a) {
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
