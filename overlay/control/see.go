package control

import (
	"context"
	"time"
)

// The operations that take a while. They end early when the daemon does.
const (
	opFlows = "flows"
	opPing  = "ping"
)

// Bounds of what they take, well below connTimeout.
const (
	// FlowsLeast and FlowsMost bound how long flows are counted. In less than the one rates
	// mean nothing.
	FlowsLeast = 100 * time.Millisecond
	FlowsMost  = 3 * time.Second
)

// Seer answers what takes a while.
type Seer interface {
	// Flows counts inner flows for so long, and returns the largest.
	Flows(ctx context.Context, d time.Duration) (Flows, error)
	// Ping measures the round trip to a peer, by name or public key: of every path, or of one
	// for each pair of addresses.
	Ping(ctx context.Context, peer string, every bool) (Pings, error)
}

// Flows is what `srdtun flows --json` prints: inner flows, the largest first.
type Flows struct {
	Schema        int    `json:"schema"`         // as in the status
	Interface     string `json:"interface"`      // whose flows they are
	OverUs        int64  `json:"over_us"`        // how long was counted
	Flows         []Flow `json:"flows"`          // at most 256
	OtherTxBytes  uint64 `json:"other_tx_bytes"` // sent, and of none of these flows
	OtherRxBytes  uint64 `json:"other_rx_bytes"` // received, and of none of these flows
	ReplacedFlows uint64 `json:"replaced_flows"` // small flows that the table of 2,048 had no room for
}

// Flow is both directions of one inner flow while it was counted.
type Flow struct {
	Peer            string `json:"peer"`             // its name, or its public key if it has none
	Protocol        string `json:"protocol"`         // tcp, udp, icmp, or the IP protocol's number
	Local           string `json:"local"`            // address:port that it is sent from; of an ICMP echo the port is its identifier
	Remote          string `json:"remote"`           // address:port that it is sent to
	TxBytes         uint64 `json:"tx_bytes"`         // inner packets sent
	TxPackets       uint64 `json:"tx_packets"`       // inner packets sent
	RxBytes         uint64 `json:"rx_bytes"`         // inner packets received
	RxPackets       uint64 `json:"rx_packets"`       // inner packets received
	QueuedBytes     uint64 `json:"queued_bytes"`     // at the end: waiting to be sent
	HeldFrames      uint64 `json:"held_frames"`      // at the end: arrived and waiting for an earlier one
	HeldBytes       uint64 `json:"held_bytes"`       // in these
	ReorderedFrames uint64 `json:"reordered_frames"` // arrived before an earlier one, and were put in order
	LongestHoldUs   int64  `json:"longest_hold_us"`  // the longest that one of those waited
}

// Pings is what one round of `srdtun ping` found.
type Pings struct {
	Schema int    `json:"schema"` // as in the status
	Peer   string `json:"peer"`   // its name, or its public key if it has none
	Paths  []Ping `json:"paths"`  // those that were asked
}

// Ping is one path that was asked for its round trip.
type Ping struct {
	Slot      uint16 `json:"slot"`      // as in the status
	Local     string `json:"local"`     // address:port
	Interface string `json:"interface"` // as in the status
	Remote    string `json:"remote"`    // address:port
	RTTUs     int64  `json:"rtt_us"`    // 0: no answer within a second
}

// flowsFor counts flows for the time that was asked for, within bounds.
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

// Flows counts inner flows for so long, between FlowsLeast and FlowsMost.
func (c *Client) Flows(d time.Duration) (*Flows, error) {
	r, err := c.do(request{Op: opFlows, Ms: d.Milliseconds()})
	if err == nil && r.Flows == nil {
		err = errNothing(c.at)
	}
	return r.Flows, err
}

// Ping measures round trips to a peer once: on every path, or on one for each pair of
// addresses.
func (c *Client) Ping(peer string, every bool) (*Pings, error) {
	r, err := c.do(request{Op: opPing, Peer: peer, Every: every})
	if err == nil && r.Pings == nil {
		err = errNothing(c.at)
	}
	return r.Pings, err
}
