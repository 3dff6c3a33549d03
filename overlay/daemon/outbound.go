package daemon

import (
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/overlay/queue"
	"github.com/srdtun/srdtun/overlay/tundev"
	"github.com/srdtun/srdtun/srd/loop"
	"github.com/srdtun/srdtun/srd/mono"
)

// outbound is a peer's queue in front of the transport.
type outbound struct {
	link       *loop.Peer
	pool       *tundev.Pool
	queue      *queue.Queue
	segmenter  order.Segmenter
	pieces     pieces
	stale      uint64        // datagrams dropped for their age
	unfinished uint64        // frames dropped: the peer restarted while they were being sent
	noEndpoint atomic.Uint64 // frames dropped: there is no address to call the peer at
	noSession  mono.Time     // since when there is no session; 0: there is one
	waiting    mono.Time     // since when something waits for one; 0: nothing does
}

// load takes a frame to be cut out of the queue, unless there is one already.
func (o *outbound) load(now mono.Time) bool {
	if !o.segmenter.Empty() {
		if !o.segmenter.Older(now, datagramAge) {
			return true
		}
		o.stale++ // the rest of one that was being sent when everything stopped
		o.segmenter.Drop()
	}
	for f := o.next(now); f != nil; f = o.next(now) {
		if !f.TCP && now.Sub(f.Enqueued) > datagramAge {
			o.stale++
			f.Release()
			continue
		}
		o.segmenter.Load(f)
		return true
	}
	return false
}

// next takes a frame out of the queue, in pieces if the peer could not read it whole.
func (o *outbound) next(now mono.Time) *frame.Frame {
	if f := o.pieces.take(); f != nil {
		return f
	}
	f := o.queue.Pop(now)
	if f == nil || !f.Facts.GSO.Tunnelled() || o.link.Conn().Session(now).Features&readsTunnelled != 0 {
		return f
	}
	o.pieces.cut(o.pool, f)
	return o.pieces.take()
}

// abandon drops what is left of the frame that is being sent, and of its super-frame, and
// returns how many frames those are.
func (o *outbound) abandon() (dropped uint64) {
	if !o.segmenter.Empty() {
		dropped++
	}
	o.segmenter.Reset()
	return dropped + o.pieces.drop()
}

// datagramAge is how long a datagram may wait to be sent, in the queue while nobody
// answers: then nothing is taken out of it, and at the end it would all arrive late at
// once. A handshake has three tries in that time, and whoever wanted an answer has
// mostly asked again. TCP's packets stay: they bring a connection back at once that
// else waits for its own timer.
const datagramAge = 2 * time.Second
