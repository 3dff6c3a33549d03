package main

import "encoding/binary"

// rows are the kinds of packets that the liar can send. Each function in rows fills a packet with
// frames.
var rows = map[string]func(l *sender) []byte{
	// In a "sequence" packet, each frame is as far ahead of the previous frame as the protocol
	// allows.
	"sequence": func(l *sender) []byte {
		return l.fill(60, func(b []byte) []byte {
			l.turn++
			return l.message(b, 0, l.turn*8191, 0, 20, 20)
		})
	},
	// "slots" packets contain frames out of order, in all flow slots.
	"slots": func(l *sender) []byte {
		return l.fill(1400, func(b []byte) []byte {
			l.turn++
			return l.message(b, l.turn%4096, 1+l.turn/4096, 0, 20, 20)
		})
	},
	// "hoard" packets contain whole frames in all flow slots. The frames wait for an earlier frame,
	// which never arrives.
	"hoard": func(l *sender) []byte {
		l.turn++
		return l.message(nil, l.turn%4096, 1+l.turn/4096, 0, 1380, 1380)
	},
	// "unfinished" messages contain one byte of each frame.
	"unfinished": func(l *sender) []byte {
		return l.fill(100, func(b []byte) []byte {
			l.turn++
			return l.message(b, l.turn%4096, 1+l.turn/4096, 0, 10_300, 1)
		})
	},
	// "spread" messages touch each memory page of the largest frames, so that the receiver uses
	// all their memory.
	"spread": spread,
	// "earned" packets are "spread" packets after half a second of honest traffic.
	"earned": func(l *sender) []byte {
		if l.number < 2000 {
			return l.fill(1380, func(b []byte) []byte {
				b = l.message(b, 100, l.turn, 0, 1380, 1380)
				l.turn++
				return b
			})
		}
		return spread(l)
	},
	// "tombstones" packets abandon frames before any part of them has arrived.
	"tombstones": func(l *sender) []byte {
		return l.fill(1400, func(b []byte) []byte {
			l.turn++
			b = append(b, 7)
			b = binary.BigEndian.AppendUint32(b, l.number)
			l.number++
			return immediate(b, l.turn%4096, 1+l.turn/4096, 0, 100)
		})
	},
	// "far" frames have sequence numbers far ahead of all others.
	"far": func(l *sender) []byte {
		return l.fill(60, func(b []byte) []byte {
			l.turn++
			return l.message(b, l.turn%7, l.turn<<20, 0, 20, 20)
		})
	},
	// "challenges" packets contain only path challenges.
	"challenges": func(l *sender) []byte {
		return l.fill(1400, func(b []byte) []byte {
			l.turn++
			return append(binary.BigEndian.AppendUint32(append(b, 3), l.turn), make([]byte, 12)...)
		})
	},
	// "pings" are small packets that each request an acknowledgement.
	"pings": func(l *sender) []byte { return []byte{6} },
}

func spread(l *sender) []byte {
	return l.fill(1400, func(b []byte) []byte {
		const pages = 16
		l.turn++
		frame := l.turn / pages
		return l.message(b, frame%64, 1+frame/64, int(l.turn%pages)*4096, 65_000, 1)
	})
}

// fill appends frames to a packet until it has size bytes.
func (l *sender) fill(size int, frame func([]byte) []byte) (b []byte) {
	for len(b) < size {
		b = frame(b)
	}
	return b
}

// message appends a MESSAGE frame (docs/wire.md).
func (l *sender) message(b []byte, slot, seq uint32, offset, length, n int) []byte {
	b = append(b, 1)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	b = binary.BigEndian.AppendUint32(b, l.number)
	l.number++
	b = immediate(b, slot, seq, offset, length)
	return append(b, make([]byte, n)...)
}

func immediate(b []byte, slot, seq uint32, offset, length int) []byte {
	b = binary.BigEndian.AppendUint16(b, uint16(slot))
	b = binary.BigEndian.AppendUint32(b, seq)
	b = binary.BigEndian.AppendUint16(b, uint16(offset))
	b = binary.BigEndian.AppendUint16(b, uint16(length))
	return append(b, 0, 0, 16)
}
