package net

import "testing"

// A single busy port may use half of a shared buffer; two busy ports may use a third each.
func TestPoolIsShared(t *testing.T) {
	const size, packet = 300_000, 1000
	e := NewEngine(1, nil)
	pool := &Pool{Size: size, Alpha: 1}
	var links []*Link
	for range 2 {
		l := e.NewLink("port", Quality{Rate: 1e3, Queue: size}, discard{})
		pool.Add(l)
		links = append(links, l)
	}
	fill := func(l *Link) int {
		for range 2 * size / packet {
			l.Receive(&Packet{Size: packet})
		}
		return l.Waiting()
	}
	one := fill(links[0])
	if one < size/2-2*packet || one > size/2+2*packet {
		t.Errorf("%d bytes wait at a port alone, want half of %d", one, size)
	}
	two := fill(links[1])
	if want := (size - one) / 2; two < want-2*packet || two > want+2*packet {
		t.Errorf("%d bytes wait at the second port, want half of the rest, %d", two, want)
	}
	if d := links[0].Drops[LinkQueue]; d == 0 {
		t.Error("nothing was dropped")
	}
}

// discard is a node that drops all packets.
type discard struct{}

func (discard) Receive(*Packet) {}
