package epnet

import (
	"encoding/binary"

	"github.com/srdtun/srdtun/srd/ep"
)

const (
	frameOpen = 1 + iota
	frameData
	frameEnd
	frameWindow
	frameReset
	frameStop
	frameAlive
	frameOpener = 0x80 // a flag: the sender has opened the stream
)

const (
	headLen = 17
	// segmentMost is the largest number of data bytes in a frame. A frame of up to ep.EagerMost
	// bytes is sent before the peer has reserved a receive.
	segmentMost = ep.EagerMost - headLen
	// window is the number of bytes that a stream's receiver buffers for its program, about the
	// bandwidth-delay product of 200 Mbit/s and 20 ms.
	window = 512 << 10
	// flightMost is the largest number of unacknowledged data frames of a stream. So many full
	// frames fill about one window.
	flightMost = 64
)

// frame is a frame with its header fields and its data.
type frame struct {
	kind   byte
	opener bool // the sender has opened the stream
	id     uint64
	value  uint64
	data   []byte
}

func (f *frame) append(b []byte) []byte {
	kind := f.kind
	if f.opener {
		kind |= frameOpener
	}
	b = binary.BigEndian.AppendUint64(append(b, kind), f.id)
	return append(binary.BigEndian.AppendUint64(b, f.value), f.data...)
}

// parseFrame parses a message of package ep. If the message is no valid frame, parseFrame
// returns false.
func parseFrame(b []byte) (f frame, ok bool) {
	if len(b) < headLen {
		return f, false
	}
	f = frame{kind: b[0] &^ frameOpener, opener: b[0]&frameOpener != 0, id: binary.BigEndian.Uint64(b[1:]), value: binary.BigEndian.Uint64(b[9:]), data: b[headLen:]}
	return f, f.kind >= frameOpen && f.kind <= frameAlive && (f.kind == frameData) == (len(f.data) > 0)
}
