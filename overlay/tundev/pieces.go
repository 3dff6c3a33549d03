package tundev

import (
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

// Piece returns packet i of a tunnelled super-frame as a separate frame. The parameters in and t
// describe the super-frame. The new frame has the flow, order and time of the super-frame.
func (p *Pool) Piece(whole *frame.Frame, in *packet.Info, t *packet.Tunnel, i int) *frame.Frame {
	part := p.Get(t.SegmentLen(whole.Facts, i))
	t.Segment(part.Data, whole.Data, in, whole.Facts, i)
	part.Facts = frame.Facts{Ordered: whole.Facts.Ordered}
	part.Flow, part.TCP, part.Enqueued = whole.Flow, whole.TCP, whole.Enqueued
	return part
}

// Pieces appends the packets of a tunnelled super-frame to dst, for a peer that cannot read it
// whole, and releases the super-frame. Pieces appends a frame of any other kind unchanged.
func (p *Pool) Pieces(dst []*frame.Frame, whole *frame.Frame) []*frame.Frame {
	var in packet.Info
	var t packet.Tunnel
	if !whole.Facts.GSO.Tunnelled() || packet.Parse(whole.Data, &in) != packet.OK || t.Describe(whole.Data, &in, &whole.Facts) != packet.OK {
		return append(dst, whole)
	}
	for i := range t.Count(whole.Facts) {
		dst = append(dst, p.Piece(whole, &in, &t, i))
	}
	whole.Release()
	return dst
}
