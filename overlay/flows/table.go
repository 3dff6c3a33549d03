// Package flows counts the packets of inner flows when a user requests it. Both directions of a
// connection are counted in one Flow, whose Key is the 5-tuple of the outgoing packets.
//
// A Table has a fixed size, and consists of sets of eight flows. If a ninth flow hashes to a set,
// it replaces the smallest flow there, so the largest flows remain. The counts of the replaced flow
// are added to Others.
//
// The package is pure: it has no clock, lock or output. A Table is not safe for concurrent use.
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

// A table has room for 2,048 flows in some 400 KB of memory. It exists only while flows are
// counted.
const (
	sets = 256
	ways = 8
)

// Most is the largest number of flows in a table.
const Most = sets * ways

// Key identifies a flow. The ports are 0 for protocols without ports and for fragments. The
// local port of an ICMP echo is its identifier.
type Key struct {
	Peer          string // name of the peer
	Proto         uint8
	Local, Remote netip.AddrPort // source and destination of outgoing packets
}

// Count has the packets and bytes of one direction of a flow. A super-frame counts as the
// packets that it contains.
type Count struct{ Packets, Bytes uint64 }

func (c *Count) add(d Count) { c.Packets, c.Bytes = c.Packets+d.Packets, c.Bytes+d.Bytes }

// Flow is an inner flow with its counts.
type Flow struct {
	Key
	Out, In     Count
	Queued      uint64        // bytes that wait for sending
	HeldFrames  uint64        // arrived frames that wait for an earlier one
	HeldBytes   uint64        // bytes of these
	Reordered   uint64        // frames that arrived after a frame that was sent later, and were put in order
	LongestHold time.Duration // the longest wait of a frame for an earlier one
}

// size returns the sum of a flow's transferred and waiting bytes. The flow with the smallest size
// in a set is replaced first.
func (f *Flow) size() uint64 { return f.Out.Bytes + f.In.Bytes + f.Queued + f.HeldBytes }

// Others counts the frames that belong to no flow in the table: those of replaced flows, and frames
// that are not IP packets.
type Others struct {
	Out, In Count
	Flows   uint64 // number of flows that were replaced by another
}

// Table counts inner flows in a fixed amount of memory. New creates a Table; the zero value is
// unusable.
type Table struct {
	seed   maphash.Seed
	sets   [sets][]Flow
	others Others
}

// New returns an empty table. Who does not know the seed of the hash cannot choose flows that share
// a set.
func New(seed maphash.Seed) *Table { return &Table{seed: seed} }

// Out counts a frame that is sent to a peer.
func (t *Table) Out(peer string, f *frame.Frame) {
	k, n, ok := describe(peer, f, false)
	if !ok {
		t.others.Out.add(n)
		return
	}
	t.at(k).Out.add(n)
}

// In counts a frame from a peer, which may contain arbitrary bytes.
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

// Queue records that bytes of the flow of frame f wait in the send queue.
func (t *Table) Queue(peer string, f *frame.Frame, bytes int) {
	if k, _, ok := describe(peer, f, false); ok {
		t.at(k).Queued += uint64(bytes)
	}
}

// Hold records that frame f from a peer waits for an earlier frame.
func (t *Table) Hold(peer string, f *frame.Frame) {
	if k, n, ok := describe(peer, f, true); ok {
		e := t.at(k)
		e.HeldFrames++
		e.HeldBytes += n.Bytes
	}
}

// Top returns the n largest flows, and the counts of flows that are not in the table.
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

// describe returns the flow and the size of a frame. If the frame is not an IP packet, describe
// returns false.
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
	case echo: // the identifier is the local port in both directions
		k.Local, k.Remote = netip.AddrPortFrom(info.Dst, info.SrcPort), netip.AddrPortFrom(info.Src, 0)
	default:
		k.Local, k.Remote = to, from
	}
	return k, n, true
}
