package control

import (
	"context"
	"time"
)

// The operations flows and ping take up to some seconds. Flows and Ping end early when the
// daemon stops.
const (
	opFlows = "flows"
	opPing  = "ping"
)

// With these limits the operations flows and ping take well below connTimeout.
const (
	// FlowsLeast and FlowsMost bound the time for which flows are counted. In less time than
	// FlowsLeast, the counted rates would be too inaccurate.
	FlowsLeast = 100 * time.Millisecond
	FlowsMost  = 3 * time.Second
)

// Seer handles the requests that take up to some seconds.
type Seer interface {
	// Flows counts inner flows for the time d, and returns the largest flows.
	Flows(ctx context.Context, d time.Duration) (Flows, error)
	// Ping measures the round trip to a peer, which is given by name or public key. If every is
	// set, Ping probes all paths, otherwise one path for each pair of addresses.
	Ping(ctx context.Context, peer string, every bool) (Pings, error)
}

// Flows is the output of `srdtun flows --json`: the inner flows, largest first.
type Flows struct {
	Schema        int    `json:"schema"`         // as in the status
	Interface     string `json:"interface"`      // name of the device
	OverUs        int64  `json:"over_us"`        // time of counting
	Flows         []Flow `json:"flows"`          // at most 256
	OtherTxBytes  uint64 `json:"other_tx_bytes"` // sent by other flows
	OtherRxBytes  uint64 `json:"other_rx_bytes"` // received by other flows
	ReplacedFlows uint64 `json:"replaced_flows"` // small flows without room in the table of 2,048
}

// Flow counts both directions of one inner flow.
type Flow struct {
	Peer            string `json:"peer"`             // its name, or its public key if it has none
	Protocol        string `json:"protocol"`         // tcp, udp, icmp, or the IP protocol's number
	Local           string `json:"local"`            // source address:port; of an ICMP echo the port is its identifier
	Remote          string `json:"remote"`           // destination address:port
	TxBytes         uint64 `json:"tx_bytes"`         // inner packets sent
	TxPackets       uint64 `json:"tx_packets"`       // inner packets sent
	RxBytes         uint64 `json:"rx_bytes"`         // inner packets received
	RxPackets       uint64 `json:"rx_packets"`       // inner packets received
	QueuedBytes     uint64 `json:"queued_bytes"`     // at the end: waiting to be sent
	HeldFrames      uint64 `json:"held_frames"`      // at the end: arrived, and waiting for an earlier frame
	HeldBytes       uint64 `json:"held_bytes"`       // in these
	ReorderedFrames uint64 `json:"reordered_frames"` // arrived before an earlier frame, and were put in order
	LongestHoldUs   int64  `json:"longest_hold_us"`  // longest wait of one of these
}

// Pings is the result of one round of `srdtun ping`.
type Pings struct {
	Schema int    `json:"schema"` // as in the status
	Peer   string `json:"peer"`   // its name, or its public key if it has none
	Paths  []Ping `json:"paths"`  // the measured paths
}

// Ping is the round trip of one path.
type Ping struct {
	Slot      uint16 `json:"slot"`      // as in the status
	Local     string `json:"local"`     // address:port
	Interface string `json:"interface"` // as in the status
	Remote    string `json:"remote"`    // address:port
	RTTUs     int64  `json:"rtt_us"`    // 0: no answer within a second
}

// flowsFor counts flows for the requested time, limited to FlowsLeast and FlowsMost.
func flowsFor(ctx context.Context, h Handler, req request) reply {
	d := time.Duration(req.Ms) * time.Millisecond
	v, err := h.Flows(ctx, min(max(d, FlowsLeast), FlowsMost))
	if err != nil {
		return reply{Error: err.Error()}
	}
	v.Schema = Schema
	if v.Flows == nil {
		v.Flows = []Flow{}
	}
	return reply{Flows: &v}
}

func pingOf(ctx context.Context, h Handler, req request) reply {
	v, err := h.Ping(ctx, req.Peer, req.Every)
	if err != nil {
		return reply{Error: err.Error()}
	}
	v.Schema = Schema
	if v.Paths == nil {
		v.Paths = []Ping{}
	}
	return reply{Pings: &v}
}

// Flows counts inner flows for a time d between FlowsLeast and FlowsMost.
func (c *Client) Flows(d time.Duration) (*Flows, error) {
	r, err := c.do(request{Op: opFlows, Ms: d.Milliseconds()})
	return r.Flows, err
}

// Ping measures the round trips to a peer once. If `every` is set, Ping probes all paths,
// otherwise one path for each pair of addresses.
func (c *Client) Ping(peer string, every bool) (*Pings, error) {
	r, err := c.do(request{Op: opPing, Peer: peer, Every: every})
	return r.Pings, err
}
