package main

import "encoding/binary"

// rows are the kinds of packets that a liar may send. Each function fills a packet with
// frames.
var rows = map[string]func(l *liar) []byte{
	// Here each frame is as far ahead of the previous one as allowed.
	"sequence": func(l *liar) []byte {
		return l.fill(60, func(b []byte) []byte {
			l.turn++
			return l.message(b, 0, l.turn*8191, 0, 20, 20)
		})
	},
	// These frames are out of order, over all slots.
	"slots": func(l *liar) []byte {
		return l.fill(1400, func(b []byte) []byte {
			l.turn++
			return l.message(b, l.turn%4096, 1+l.turn/4096, 0, 20, 20)
		})
	},
	// These whole frames wait for an earlier frame, over all slots. The earlier frame
	// never comes.
	"hoard": func(l *liar) []byte {
		l.turn++
		return l.message(nil, l.turn%4096, 1+l.turn/4096, 0, 1380, 1380)
	},
	// These messages have one byte of each frame.
	"unfinished": func(l *liar) []byte {
		return l.fill(100, func(b []byte) []byte {
			l.turn++
			return l.message(b, l.turn%4096, 1+l.turn/4096, 0, 10_300, 1)
		})
	},
	// These messages touch each page of the largest frames, so that all of their memory
	// is in use.
	"spread": spread,
	// These are the same messages, after half a second of honest traffic.
	"earned": func(l *liar) []byte {
		if l.number < 2000 {
			return l.fill(1380, func(b []byte) []byte {
				b = l.message(b, 100, l.turn, 0, 1380, 1380)
				l.turn++
				return b
			})
		}
		return spread(l)
	},
	// These frames are given up before any part has come.
	"tombstones": func(l *liar) []byte {
		return l.fill(1400, func(b []byte) []byte {
			l.turn++
			b = append(b, 7)
			b = binary.BigEndian.AppendUint32(b, l.number)
			l.number++
			return immediate(b, l.turn%4096, 1+l.turn/4096, 0, 100)
		})
	},
	// These numbers are far ahead of all others.
	"far": func(l *liar) []byte {
		return l.fill(60, func(b []byte) []byte {
			l.turn++
			return l.message(b, l.turn%7, l.turn<<20, 0, 20, 20)
		})
	},
	// These are path challenges.
	"challenges": func(l *liar) []byte {
		return l.fill(1400, func(b []byte) []byte {
			l.turn++
			return append(binary.BigEndian.AppendUint32(append(b, 3), l.turn), make([]byte, 12)...)
		})
	},
	// These are small packets that all ask for an acknowledgement.
	"pings": func(l *liar) []byte { return []byte{6} },
	// These are frames that an honest peer sends as well.
	"flood": func(l *liar) []byte {
		l.turn++
		return l.message(nil, l.turn%64, l.turn/64, 0, 1380, 1380)
	},
}

func spread(l *liar) []byte {
	return l.fill(1400, func(b []byte) []byte {
		const pages = 16
		l.turn++
		frame := l.turn / pages
		return l.message(b, frame%64, 1+frame/64, int(l.turn%pages)*4096, 65_000, 1)
	})
}

// fill appends frames until they have size bytes.
func (l *liar) fill(size int, frame func([]byte) []byte) (b []byte) {
	for len(b) < size {
		b = frame(b)
	}
	return b
}

// message appends a MESSAGE frame; see docs/wire.md.
func (l *liar) message(b []byte, slot, seq uint32, offset, length, n int) []byte {
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
