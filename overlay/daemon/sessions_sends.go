package daemon

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd/mono"
	"github.com/srdtun/srdtun/srd/udp"
	"golang.org/x/sys/unix"
)

// sendsFail is the time for which sending on a path must fail until that is a fault. A firewall that
// limits a rate refuses a few packets.
const sendsFail = 2 * time.Second

// blockedSends derives from the counters of sent packets that the kernel refuses packets on a path.
// Only the observer calls look. The zero value of blockedSends is ready for use.
type blockedSends struct {
	failed    uint64    // counter at the last look
	since, at mono.Time // first look with a refused path, and the latest one with a refused packet
	line      atomic.Pointer[string]
}

func (w *blockedSends) look(now mono.Time, n *udp.SendStats, log *eventLog) {
	b := n.Blocked.Load()
	if failed := n.Failed.Load(); failed != w.failed {
		w.failed, w.at = failed, now
	}
	if b != nil && now.Sub(w.at) > refusedFor { // nothing is sent on that path any more
		n.Blocked.CompareAndSwap(b, nil)
		b = nil
	}
	told := w.line.Load() != nil
	switch {
	case b == nil:
		if w.since = 0; told {
			w.line.Store(nil)
			log.tell(events.SendBack, "", "sending works again")
		}
	case w.since == 0:
		w.since = now
	case !told && now.Sub(w.since) >= sendsFail:
		line := sendFault(b)
		w.line.Store(&line)
		log.tell(events.SendBlocked, "", "%s", line)
	}
}

// faults returns a line if sending on a path fails.
func (w *blockedSends) faults() []string {
	if line := w.line.Load(); line != nil {
		return []string{*line}
	}
	return nil
}

func sendFault(b *udp.Blocked) string {
	line := fmt.Sprintf("sending to %v fails (%v)", b.Tuple.Remote, b.Err)
	if errors.Is(b.Err, unix.EPERM) {
		line += ": a firewall of this host refuses UDP to it; see nft list ruleset, iptables -S OUTPUT, and IPAddressDeny of the service"
	}
	return line
}
