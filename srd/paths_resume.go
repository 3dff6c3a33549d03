package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// suspend notes the paths as they are.
func (ps *paths) suspend(st *State) {
	for _, p := range ps.table {
		v := pathState{state: p.state, next: p.sent.Next(), largest: p.largest, peerCE: uint64(p.peerCE)}
		if p.skipped > p.sent.First() && v.next-p.skipped <= trapMost {
			v.trap = p.skipped
		}
		if p.state != PathFree {
			v.tuple, v.mtu, v.want = p.tuple, uint64(p.mtu), uint64(p.probe.want)
			v.smoothed, v.base = uint64(p.rtt.Smoothed()), uint64(p.rtt.Base())
			v.heard, v.seen, v.fell = p.heard, p.seen, p.fell
			for i, set := range []bool{p.ours, p.validated, p.unsized} {
				if set {
					v.flags |= 1 << i
				}
			}
		}
		st.paths = append(st.paths, v)
	}
	if p := ps.last; p != nil {
		st.lastPath = uint64(p.slot) + 1
	}
}

// resume takes the paths over as they were. Those that were silent, or not proven yet,
// are challenged at once.
func (ps *paths) resume(now mono.Time, st *State) {
	ps.strayed = st.strayed
	for i := range st.paths {
		ps.table = append(ps.table, ps.revive(now, uint16(i), &st.paths[i], len(st.paths)))
		ps.opened++
	}
	ps.mourn()
	ps.resize()
	if st.lastPath > 0 && ps.table[st.lastPath-1].state != PathFree {
		ps.last = ps.table[st.lastPath-1]
	}
	if d := time.Duration(st.smoothed); d > 0 && d <= sampleMost {
		ps.rtt.Add(d)
	}
}

func (ps *paths) revive(now mono.Time, slot uint16, v *pathState, of int) *path {
	p := &path{slot: slot, state: v.state, largest: v.largest, peerCE: uint32(v.peerCE), reorder: reorderFirst}
	p.sent.Resume(v.next)
	if v.trap > 0 {
		// Of the packets around it nothing is known any more but that they were sent.
		p.sent.Resume(v.trap - 1)
		p.skipped = p.sent.Push(ledger.Packet{State: ledger.Skipped}) + 1
		for p.sent.Next() < v.next {
			p.sent.Push(ledger.Packet{State: ledger.Acked})
		}
	}
	if v.state == PathFree {
		return p
	}
	p.tuple = v.tuple
	p.ours, p.validated, p.unsized = v.flags&flagOurs != 0, v.flags&flagValidated != 0, v.flags&flagUnsized != 0
	p.heard, p.seen, p.fell = min(now, v.heard), min(now, v.seen), min(now, v.fell)
	if most := ps.cfg.MTU(p.tuple); v.mtu > 0 {
		p.mtu = max(BasePacket, min(int(v.mtu), most))
	}
	// Both, since the base is the least of all samples.
	for _, n := range []uint64{v.smoothed, v.base} {
		if d := time.Duration(n); d > 0 && d <= sampleMost {
			p.rtt.Add(now, d)
			p.took(d)
		}
	}
	ps.choice.place(p)
	p.probe = probe{next: mono.Never}
	switch every := ps.cfg.Keepalive; {
	case p.state != PathActive:
		p.probe.next = now.Add(time.Duration(slot) * openEvery)
	case p.unsized || v.want > 0:
		p.probe.next, p.probe.want = now, uint16(min(int(v.want), ps.cfg.MTU(p.tuple)))
	case every > 0 && p.ours: // not of all paths at once
		p.probe.next = now.Add(every * time.Duration(slot+1) / time.Duration(of))
	}
	if p.probe.next != mono.Never {
		ps.probing.Add(int(slot))
	}
	if p.state == PathActive {
		ps.usable.Add(int(slot))
		if p.rtt.Known() {
			ps.cfg.Control.Base(p.rtt.Base())
		}
	}
	return p
}
