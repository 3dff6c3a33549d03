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

// outbound is a peer's send queue, ahead of the transport.
type outbound struct {
	link       *loop.Peer
	pool       *tundev.Pool
	queue      *queue.Queue
	segmenter  order.Segmenter
	pieces     pieces
	stale      uint64        // datagrams dropped because they were too old
	unfinished uint64        // frames dropped: the peer restarted while they were being sent
	noEndpoint atomic.Uint64 // frames dropped: no address of the peer is known
	noSession  mono.Time     // start of the time without a session; 0: there is one
	waiting    mono.Time     // since when frames wait for a session; 0: none waits
}

// load takes the next frame from the queue, to cut it into messages. If the previous frame is
// unfinished, load keeps that one.
func (o *outbound) load(now mono.Time) bool {
	if !o.segmenter.Empty() {
		if !o.segmenter.Older(now, datagramAge) {
			return true
		}
		o.stale++ // the rest of a frame of which a part had been sent before the stop
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

// next takes a frame from the queue. If the peer cannot read a super-frame as a whole, next()
// cuts it into packets.
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

// abandon drops the rest of the frame in progress, and the rest of its super-frame. The method
// abandon() returns the number of dropped frames.
func (o *outbound) abandon() (dropped uint64) {
	if !o.segmenter.Empty() {
		dropped++
	}
	o.segmenter.Reset()
	return dropped + o.pieces.drop()
}

// datagramAge bounds the time for which a datagram waits to be sent. While a peer does not answer,
// nothing leaves its queue. When it answers again, the whole queue would arrive late, and in one
// burst. Three handshake attempts fit into 2 s, and by then most applications have repeated their
// request. TCP packets are kept, because they resume a connection before TCP's own timer does.
const datagramAge = 2 * time.Second
