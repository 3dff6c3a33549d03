// Package flows counts inner flows while somebody wants to know which there are: both
// directions of a connection are one line, named after the 5-tuple as it leaves.
//
// A table has a fixed size. Flows are in sets of eight; a ninth of a set takes the place of
// the smallest, whose counts go to those of the others. What sends most so stays, however
// many addresses and ports somebody invents.
//
// The package is pure. A Table is not safe for concurrent use.
package flows

import (
	"cmp"
	"hash/maphash"
	"net/netip"
	"slices"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
)

// The size of a table: 2,048 flows in some 400 KB, which exists while it counts.
const (
	sets = 256
	ways = 8
)

// Most is how many flows a table can tell apart.
const Most = sets * ways

// Key names a flow. Ports are 0 for protocols without them and for fragments; the local one
// of an ICMP echo is its identifier.
type Key struct {
	Peer          string // what the peer is called
	Proto         uint8
	Local, Remote netip.AddrPort // source and destination of what leaves
}

// Count is what passed in one direction. Super-frames count as the packets that they hold.
type Count struct{ Packets, Bytes uint64 }

func (c *Count) add(d Count) { c.Packets, c.Bytes = c.Packets+d.Packets, c.Bytes+d.Bytes }

// Flow is one flow and what was seen of it.
type Flow struct {
	Key
	Out, In     Count
	Queued      uint64        // bytes that wait to be sent
	HeldFrames  uint64        // that arrived and wait for one before them
	HeldBytes   uint64        // in these
	Reordered   uint64        // frames that arrived after one sent later, and were put in order
	LongestHold time.Duration // the longest that one of those was waited for
}

// size ranks flows: by what passed, then by what waits.
func (f *Flow) size() uint64 { return f.Out.Bytes + f.In.Bytes + f.Queued + f.HeldBytes }

// Others is what belongs to no flow of the table.
type Others struct {
	Out, In Count
	Flows   uint64 // that had to make room for another
}

// Table counts flows. Use New.
type Table struct {
	seed   maphash.Seed
	sets   [sets][]Flow
	others Others
}

// New returns an empty table. Who does not know the seed cannot choose flows that share a set.
func New(seed maphash.Seed) *Table { return &Table{seed: seed} }

// Out counts a frame that leaves for a peer.
func (t *Table) Out(peer string, f *frame.Frame) {
	k, n, ok := describe(peer, f, false)
	if !ok {
		t.others.Out.add(n)
		return
	}
	t.at(k).Out.add(n)
}

// In counts a frame that came from a peer, which may be any bytes.
func (t *Table) In(peer string, f *frame.Frame) {
	k, n, ok := describe(peer, f, true)
	if !ok {
		t.others.In.add(n)
		return
	}
	e := t.at(k)
	e.In.add(n)
	if f.Held > 0 {
		e.Reordered++
		e.LongestHold = max(e.LongestHold, f.Held)
	}
}

// Queue notes that bytes of the flow of f wait to be sent.
func (t *Table) Queue(peer string, f *frame.Frame, bytes int) {
	if k, _, ok := describe(peer, f, false); ok {
		t.at(k).Queued += uint64(bytes)
	}
}

// Hold notes that f, which came from a peer, waits for one before it.
func (t *Table) Hold(peer string, f *frame.Frame) {
	if k, n, ok := describe(peer, f, true); ok {
		e := t.at(k)
		e.HeldFrames++
		e.HeldBytes += n.Bytes
	}
}

// Top returns the n largest flows, and what is in none of the table's.
func (t *Table) Top(n int) ([]Flow, Others) {
	var all []Flow
	for _, set := range t.sets {
		all = append(all, set...)
	}
	slices.SortFunc(all, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.size(), a.size()), a.Local.Compare(b.Local), a.Remote.Compare(b.Remote), cmp.Compare(a.Proto, b.Proto))
	})
	return all[:min(n, len(all))], t.others
}

// at returns the entry of k, which may be a new one.
func (t *Table) at(k Key) *Flow {
	set := &t.sets[maphash.Comparable(t.seed, k)%sets]
	least := 0
	for i := range *set {
		e := &(*set)[i]
		if e.Key == k {
			return e
		}
		if e.size() < (*set)[least].size() {
			least = i
		}
	}
	if len(*set) < ways {
		*set = append(*set, Flow{Key: k})
		return &(*set)[len(*set)-1]
	}
	e := &(*set)[least]
	t.others.Out.add(e.Out)
	t.others.In.add(e.In)
	t.others.Flows++
	*e = Flow{Key: k}
	return e
}

// describe returns the flow and the size of a frame; false when it is no IP packet.
func describe(peer string, f *frame.Frame, in bool) (Key, Count, bool) {
	n := Count{1, uint64(len(f.Data))}
	var info packet.Info
	if packet.Parse(f.Data, &info) != packet.OK {
		return Key{}, n, false
	}
	if payload := info.TotalLen - info.HeaderLen - info.L4HeaderLen; f.Facts.GSO != frame.GSONone && f.Facts.GSOSize > 0 && payload > 0 {
		n.Packets = uint64((payload + int(f.Facts.GSOSize) - 1) / int(f.Facts.GSOSize))
	}
	k := Key{Peer: peer, Proto: info.Proto}
	from, to := netip.AddrPortFrom(info.Src, info.SrcPort), netip.AddrPortFrom(info.Dst, info.DstPort)
	echo := info.Proto == packet.ProtoICMP || info.Proto == packet.ProtoICMPv6
	switch {
	case !in:
		k.Local, k.Remote = from, to
	case echo: // the identifier stays on this side
		k.Local, k.Remote = netip.AddrPortFrom(info.Dst, info.SrcPort), netip.AddrPortFrom(info.Src, 0)
	default:
		k.Local, k.Remote = to, from
	}
	return k, n, true
}
