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
	// floodSpan is the time over which strangers' packets are counted while there are
	// too many.
	floodSpan = 250 * time.Millisecond
	// floodMost initiations of a span are taken from a socket, 4,000 a second. They come
	// one by one, and one that comes alone is a wakeup and three system calls: 12 to 25 us
	// in a virtual machine, where calls are dear, and so up to a tenth of a processor. A hub
	// all of whose peers call at once gets fewer from each of its sockets. Of 100,000 a
	// second one in 32 comes through, of the eight copies that a peer sends of one two in
	// nine times at least one, and then all that have the cookie it is answered with. As
	// many packets of other kinds are taken in trains, which the kernel's filter does not
	// judge as long as there are no more.
	floodMost = 1000
	// thinnest is the least share that is let through.
	thinnest = 1 << 12
	// floodPause is the wait, in a flood, after a round that brought packets of nobody alone,
	// if there was nothing else to do for floodQuiet. So they are taken a few at a time,
	// which halves what they cost an idle host. A peer's first packet waits so much longer
	// at the most.
	floodPause = time.Millisecond
	floodQuiet = 10 * time.Millisecond
)

// floods has the kernel thin out, at sockets that get too many, what its filter cannot
// tell from packets of peers. To look at all of it takes the time that peers in session
// need. Other sockets are left alone, and so is what goes on in sessions.
type floods struct {
	bank   *udp.Bank
	of     []flood // for each socket
	begun  chan struct{}
	on     atomic.Bool // some socket is thinned out
	looked time.Time   // when, at all of them; watch's own
}

// flood is what came through at one socket since it was looked at last.
type flood struct {
	initiations atomic.Uint32
	cookies     atomic.Uint32 // initiations with a second MAC
	trained     atomic.Uint32 // packets that came in trains and are none of a session
	shares      udp.Shares    // watch's own
}

// all is let through where there is no flood.
var all = udp.Shares{Initiations: 1, Cookies: 1, Trains: 1}

func newFloods(bank *udp.Bank) *floods {
	f := &floods{bank: bank, of: make([]flood, bank.Len()), begun: make(chan struct{}, 1), looked: time.Now()}
	for i := range f.of {
		f.of[i].shares = all
	}
	return f
}

// count adds to one of the counters, and wakes watch when it is too much for a span.
func (f *floods) count(n *atomic.Uint32, more uint32) {
	if now := n.Add(more); now >= floodMost && now-more < floodMost {
		select {
		case f.begun <- struct{}{}:
		default:
		}
	}
}

// watch adapts shares until ctx ends. It sleeps for as long as there is no flood.
func (f *floods) watch(ctx context.Context) {
	for {
		select {
		case <-f.begun:
		case <-ctx.Done():
			return
		}
		// The first of a flood came in less time than a span, most likely.
		for calm := f.adapt(); !calm; calm = f.adapt() {
			select {
			case <-time.After(floodSpan):
			case <-f.begun: // with more than the share of the last one lets through
			case <-ctx.Done():
				return
			}
		}
	}
}

// adapt sets every socket's share by what came since it was called last, and reports
// whether nothing came of a flood.
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
		// On an error, as for want of memory, it stays as it was.
		if next != v.shares && f.bank.Thin(i, next) == nil {
			v.shares = next
		}
		calm = calm && v.shares == all
	}
	f.on.Store(!calm)
	return calm
}

// thin returns the share for the next span after one in which so many came through.
func thin(came, share uint32, span time.Duration) uint32 {
	offered, next := float64(came)*float64(share)*float64(floodSpan)/float64(span), uint32(1)
	for offered > float64(next)*floodMost && next < thinnest {
		next *= 2
	}
	// Who pauses now and then does not get a new start each time.
	return max(next, share/2)
}

// stranger takes a packet that is none of data, by itself or out of a train. Most of
// what a flood is made of costs neither lock nor cryptography.
func (w *worker) stranger(t srd.Tuple, b []byte, train bool) {
	switch handshake.Kind(b) {
	case 0:
		w.loop.Drops.UnknownType.Add(1)
		w.none(t.Sock, 1, train)
		return
	case handshake.TypeInitiation:
		// Whoever was given a cookie does not compete with those who were not.
		f := w.loop.floods
		n := &f.of[t.Sock].initiations
		if handshake.HasCookie(b) {
			n = &f.of[t.Sock].cookies
		}
		f.count(n, 1)
	}
	w.handshake(t, b)
}

// lone reports whether nothing but packets of nobody has come for a while, in a flood of
// them. It is called when a round is over.
func (w *worker) lone(now mono.Time) bool {
	if w.useful {
		w.useful, w.used = false, now
	}
	return w.taken > 0 && w.loop.floods.on.Load() && now.Sub(w.used) >= floodQuiet
}

// none notes packets that are none of a session.
func (w *worker) none(sock uint16, packets uint32, train bool) {
	if f := w.loop.floods; train {
		f.count(&f.of[sock].trained, packets)
	}
}
