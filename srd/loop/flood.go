package loop

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/srd"
	"github.com/srdtun/srdtun/srd/handshake"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
)

const (
	// floodSpan is the time over which strangers' packets are counted during a flood.
	floodSpan = 250 * time.Millisecond
	// floodMost is the number of initiations that a socket accepts in a span: 4,000 a
	// second. Initiations come one by one. A single packet costs a wake-up and three
	// system calls: 12 to 25 us in a virtual machine, where they are expensive. So 4,000
	// initiations a second take up to a tenth of a processor.
	//
	// If all peers of a hub call at once, each of its sockets takes fewer. If 100,000
	// initiations a second arrive, one in 32 passes. A peer sends eight copies of an
	// initiation; at least one of them passes in two of nine attempts. The reply contains
	// a cookie, and all initiations with that cookie pass.
	//
	// The same number of other packets in merged trains is accepted; below it the
	// kernel's filter does not judge trains.
	floodMost = 1000
	// thinnest bounds a share: at least one in thinnest packets passes.
	thinnest = 1 << 12
	// floodPause is the wait during a flood after a round with only strangers' packets,
	// if no peer had work for floodQuiet. The next round then takes several of these
	// packets at once, which halves their cost on an idle host. A peer's first packet
	// waits longer by floodPause at most.
	floodPause = time.Millisecond
	floodQuiet = 10 * time.Millisecond
)

// floods limits the packets that the kernel's filter cannot distinguish from peers' packets. If a
// socket gets too many of them, floods asks the kernel to thin them out. Handling all of these
// packets would take the time that peers with sessions need. Other sockets and packets of
// sessions are not thinned out.
type floods struct {
	bank   *udp.Bank
	of     []flood // one for each socket
	begun  chan struct{}
	on     atomic.Bool // some socket is being thinned out
	looked time.Time   // last call of adapt; only watch uses it
}

// flood counts the packets that passed at one socket since the last check.
type flood struct {
	initiations atomic.Uint32
	cookies     atomic.Uint32 // initiations with a second MAC
	trained     atomic.Uint32 // packets of no session that came in trains
	shares      udp.Shares    // only watch uses them
}

// all are the shares without a flood, with which every packet passes.
var all = udp.Shares{Initiations: 1, Cookies: 1, Trains: 1}

func newFloods(bank *udp.Bank) *floods {
	f := &floods{bank: bank, of: make([]flood, bank.Len()), begun: make(chan struct{}, 1), looked: time.Now()}
	for i := range f.of {
		f.of[i].shares = all
	}
	return f
}

// count adds to one of the counters, and wakes watch when the counter reaches floodMost.
func (f *floods) count(n *atomic.Uint32, more uint32) {
	if now := n.Add(more); now >= floodMost && now-more < floodMost {
		select {
		case f.begun <- struct{}{}:
		default:
		}
	}
}

// watch adjusts the shares until ctx ends. It sleeps while there is no flood.
func (f *floods) watch(ctx context.Context) {
	for {
		select {
		case <-f.begun:
		case <-ctx.Done():
			return
		}
		// The first packets of a flood probably arrived within less than a span.
		for calm := f.adapt(); !calm; calm = f.adapt() {
			select {
			case <-time.After(floodSpan):
			case <-f.begun: // more passed than the last share allows
			case <-ctx.Done():
				return
			}
		}
	}
}

// adapt sets every socket's share according to the packets that passed since the last
// call. It reports whether no socket is thinned out.
func (f *floods) adapt() (calm bool) {
	span := max(time.Since(f.looked), time.Millisecond)
	f.looked = time.Now()
	calm = true
	for i := range f.of {
		v := &f.of[i]
		next := udp.Shares{
			Initiations: thin(v.initiations.Swap(0), v.shares.Initiations, span),
			Cookies:     thin(v.cookies.Swap(0), v.shares.Cookies, span),
			Trains:      thin(v.trained.Swap(0), v.shares.Trains, span),
		}
		// After an error, for instance for lack of memory, the share stays.
		if next != v.shares && f.bank.Thin(i, next) == nil {
			v.shares = next
		}
		calm = calm && v.shares == all
	}
	f.on.Store(!calm)
	return calm
}

// thin returns the share for the next span; came is the number of packets that passed in
// the last span.
func thin(came, share uint32, span time.Duration) uint32 {
	offered, next := float64(came)*float64(share)*float64(floodSpan)/float64(span), uint32(1)
	for offered > float64(next)*floodMost && next < thinnest {
		next *= 2
	}
	// The rate at most doubles, so that an attacker who pauses does not begin without
	// thinning each time.
	return max(next, share/2)
}

// stranger handles a packet that is not a data packet, single or part of a train. Most
// packets of a flood cost neither a lock nor cryptography.
func (w *worker) stranger(t srd.Tuple, b []byte, train bool) {
	switch handshake.Kind(b) {
	case 0:
		w.loop.Drops.UnknownType.Add(1)
		w.none(t.Sock, 1, train)
		return
	case handshake.TypeInitiation:
		// Senders with a cookie have a separate counter and do not compete with senders
		// without one.
		f := w.loop.floods
		n := &f.of[t.Sock].initiations
		if handshake.HasCookie(b) {
			n = &f.of[t.Sock].cookies
		}
		f.count(n, 1)
	}
	w.handshake(t, b)
}

// lone is called at the end of a round. It reports whether, during a flood, only
// strangers' packets have arrived for floodQuiet.
func (w *worker) lone(now mono.Time) bool {
	if w.useful {
		w.useful, w.used = false, now
	}
	return w.taken > 0 && w.loop.floods.on.Load() && now.Sub(w.used) >= floodQuiet
}

// none counts packets that belong to no session if they came in a train.
func (w *worker) none(sock uint16, packets uint32, train bool) {
	if f := w.loop.floods; train {
		f.count(&f.of[sock].trained, packets)
	}
}
