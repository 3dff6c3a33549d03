package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// A packet is freed when all its messages were acknowledged by their numbers, before a
// record acknowledged the packet itself. Usually the acknowledgement with the record was
// lost, and the next record of the path covers the packet. But a greedy peer may
// acknowledge messages that were dropped (Savage et al. 1999, "TCP Congestion Control
// with a Misbehaving Receiver"). So a freed packet stays in flight and takes room in the
// window, until a record, the packet threshold or time settles it. Congestion control
// gets credit only for packets that a record acknowledges.

// free marks packet k, in flight on p, as freed: all its messages were acknowledged by number.
func (rc *recovery) free(now mono.Time, p *path, k *ledger.Packet) {
	k.State = ledger.Freed
	p.stale = true // p's oldest packet in flight may be another one now
	rc.timer.newest = max(rc.timer.newest, k.At)
	if due := max(now, k.At.Add(rc.freedFor(p))); p.freed.bytes == 0 || due < p.freed.due {
		p.freed.due = due
	}
	rc.freed += int(k.Size)
	p.freed.bytes += int(k.Size)
}

// freedFor returns the time from the sending of a freed packet on p until time settles
// it. At first freedFor returns the time within which the record should have come
// (lateAfter). The result of freedFor doubles, up to probeMost, with each settlement
// without a record in between. So a peer that never sends records gets data ever more
// slowly.
func (rc *recovery) freedFor(p *path) time.Duration {
	wait := rc.lateAfter(p)
	return max(wait, min(wait<<min(p.freed.backoff, 16), probeMost))
}

// checkFreed settles the freed packets on p that are older than freedFor.
func (rc *recovery) checkFreed(now mono.Time, p *path) {
	if p.freed.bytes == 0 || now < p.freed.due {
		return
	}
	wait := rc.freedFor(p)
	settled := false
	for pn := p.sent.First(); pn < p.sent.Next() && p.freed.bytes > 0; pn++ {
		k := p.sent.At(pn)
		if k.State != ledger.Freed {
			continue
		}
		if due := k.At.Add(wait); due > now {
			p.freed.due = due
			break
		}
		rc.settle(p, k)
		settled = true
	}
	if settled {
		p.freed.backoff++
	}
}
