package daemon

import (
	"time"

	"github.com/srdtun/srdtun/overlay/order"
	"github.com/srdtun/srdtun/srd/mono"
)

// inbound reassembles a peer's messages into frames, and restores the order of each flow.
type inbound struct {
	reassembler *order.Reassembler
	clock       mono.Time     // time of the current message
	hold        time.Duration // configured minimum of the time for which a frame waits for earlier ones
	stale       uint64        // datagrams dropped: they waited in a socket while the process was stopped
}
