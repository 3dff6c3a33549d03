package srd

import (
	"time"

	"github.com/srdtun/srdtun/srd/internal/ledger"
	"github.com/srdtun/srdtun/srd/mono"
)

// A packet is freed when all its messages were acknowledged by their numbers, before a
// record told of the packet itself. Mostly the acknowledgement with the record was lost,
// and the next record on the path tells of it. But a peer that wants more than its share
// may acknowledge messages that were dropped (Savage et al. 1999, "TCP Congestion Control
// with a Misbehaving Receiver"), so the packet stays in flight, where it takes room in the
// window, until a record, the FIFO rule or time has an end with it. Only a record is
// credited to congestion control.

// free takes it that the messages of packet k, in flight on p, have arrived.
func (rc *recovery) free(now mono.Time, p *path, k *ledger.Packet) {
	k.State = ledger.Freed
	p.stale = true // another may be the oldest
	rc.timer.newest = max(rc.timer.newest, k.At)
	if due := max(now, k.At.Add(rc.freedFor(p))); p.freed.bytes == 0 || due < p.freed.due {
		p.freed.due = due
	}
	rc.freed += int(k.Size)
	p.freed.bytes += int(k.Size)
}

// freedFor returns how long after it was sent a freed packet on p is settled: when its
// record should have come, and twice as long each time that none came in between, up to
// what probes are apart. Who never sends one is sent ever less.
func (rc *recovery) freedFor(p *path) time.Duration {
	wait := rc.lateAfter(p)
	return max(wait, min(wait<<min(p.freed.backoff, 16), probeMost))
}

// checkFreed settles what has been freed for long enough on p.
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
