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
	// floodSpan is the period over which packets of strangers (senders without a session) are
	// counted during a flood.
	floodSpan = 250 * time.Millisecond
	// floodMost is the number of initiations that a socket accepts in a floodSpan: 4,000 a second.
	// Initiations arrive one by one, not in trains. In a virtual machine, a single packet costs a
	// wake-up and three system calls: 12 to 25 us. So 4,000 initiations a second take up to a tenth
	// of a processor.
	//
	// If all peers of a hub send initiations at once, each of its sockets gets fewer than 4,000 a
	// second. If 100,000 initiations a second arrive, one in 32 passes. A peer sends eight copies
	// of an initiation, and at least one of them passes with a probability of 22 %. The reply
	// contains a cookie, and initiations with a cookie's MAC have a share of their own.
	//
	// In addition, a socket accepts floodMost foreign packets in merged trains in a floodSpan. If
	// fewer arrive, the kernel's filter lets all trains pass.
	floodMost = 1000
	// thinnest bounds the share of dropped packets: at least one of thinnest packets passes.
	thinnest = 1 << 12
	// floodPause is the wait after a round with only strangers' packets, during a flood. The worker
	// waits only if no peer had work for floodQuiet. After the wait, a round handles several of
	// these packets at once, which halves their cost on an idle host. The wait delays a peer's
	// first packet by at most floodPause.
	floodPause = time.Millisecond
	floodQuiet = 10 * time.Millisecond
)

// floods limits the strangers' packets that the kernel's filter cannot distinguish from peers'
// packets. If a socket gets too many of them, floods makes the kernel drop a part. Handling all
// of them would take the time that peers with sessions need. The kernel drops no packets of
// sessions, and no packets at other sockets.
type floods struct {
	bank   *udp.Bank
	of     []flood // one for each socket
	begun  chan struct{}
	on     atomic.Bool // the kernel drops a part of some socket's packets
	looked time.Time   // last call of adapt; only the method watch() uses it
}

// flood counts the packets that passed at one socket since the last check.
type flood struct {
	initiations atomic.Uint32
	cookies     atomic.Uint32 // number of initiations with a second MAC
	trained     atomic.Uint32 // number of packets of no session, in trains
	shares      udp.Shares    // only the method watch() uses them
}

// all has the shares without a flood: every packet passes.
var all = udp.Shares{Initiations: 1, Cookies: 1, Trains: 1}

func newFloods(bank *udp.Bank) *floods {
	f := &floods{bank: bank, of: make([]flood, bank.Len()), begun: make(chan struct{}, 1), looked: time.Now()}
	for i := range f.of {
		f.of[i].shares = all
	}
	return f
}

// count adds `more` to one of the counters. When the counter reaches floodMost, count() wakes
// the goroutine of the method watch().
func (f *floods) count(n *atomic.Uint32, more uint32) {
	if now := n.Add(more); now >= floodMost && now-more < floodMost {
		select {
		case f.begun <- struct{}{}:
		default:
		}
	}
}

// watch adjusts the shares until ctx ends. Without a flood, it sleeps.
func (f *floods) watch(ctx context.Context) {
	for {
		select {
		case <-f.begun:
		case <-ctx.Done():
			return
		}
		// The first packets of a flood probably arrived within less than floodSpan, so adapt()
		// runs at once.
		for calm := f.adapt(); !calm; calm = f.adapt() {
			select {
			case <-time.After(floodSpan):
			case <-f.begun: // more packets passed than the last shares should allow
			case <-ctx.Done():
				return
			}
		}
	}
}

// adapt sets every socket's shares according to the packets that passed since the last call. It
// reports whether all packets now pass at all sockets.
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
		// After an error, for instance for lack of memory, the socket keeps its old shares.
		if next != v.shares && f.bank.Thin(i, next) == nil {
			v.shares = next
		}
		calm = calm && v.shares == all
	}
	f.on.Store(!calm)
	return calm
}

// thin returns n, if one in n packets should pass in the next span. The parameter `passed` is
// the number of packets that passed in the last span.
func thin(passed, share uint32, span time.Duration) uint32 {
	offered, next := float64(passed)*float64(share)*float64(floodSpan)/float64(span), uint32(1)
	for offered > float64(next)*floodMost && next < thinnest {
		next *= 2
	}
	// The rate of passing packets at most doubles. So after a pause an attacker does not begin
	// again without a limit.
	return max(next, share/2)
}

// stranger handles a packet that is not a data packet, single or part of a train. Most packets
// of a flood cost neither a lock nor cryptography.
func (w *worker) stranger(t srd.Tuple, b []byte, train bool) {
	switch handshake.Kind(b) {
	case 0:
		w.loop.Drops.UnknownType.Add(1)
		w.none(t.Sock, 1, train)
		return
	case handshake.TypeInitiation:
		// Senders with a cookie have a separate counter, so that they do not compete with
		// senders without a cookie.
		f := w.loop.floods
		n := &f.of[t.Sock].initiations
		if handshake.HasCookie(b) {
			n = &f.of[t.Sock].cookies
		}
		f.count(n, 1)
	}
	w.handshake(t, b)
}

// lone reports whether, during a flood, only strangers' packets have arrived for floodQuiet. The
// worker calls lone() at the end of a round.
func (w *worker) lone(now mono.Time) bool {
	if w.useful {
		w.useful, w.used = false, now
	}
	return w.taken > 0 && w.loop.floods.on.Load() && now.Sub(w.used) >= floodQuiet
}

// none counts packets of no session that arrived in a train.
func (w *worker) none(sock uint16, packets uint32, train bool) {
	if f := w.loop.floods; train {
		f.count(&f.of[sock].trained, packets)
	}
}
