package daemon

import (
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/srd/mono"
)

func sized(flow uint32, n int) []*frame.Frame {
	return []*frame.Frame{{Flow: flow, Data: make([]byte, n)}}
}

// acknowledgement is a TCP packet without data.
var acknowledgement = []byte{0: 0x45, 3: 40, 9: packet.ProtoTCP, 32: 0x50, 33: 0x10, 39: 0}

// A short packet is urgent, unless it belongs to the end of its flow's bulk data.
func TestShortPacketsAreUrgent(t *testing.T) {
	const request, download = 1, 2
	var b bulkFlows
	now := mono.Time(time.Second)
	expect := func(want bool, flow uint32, n int) {
		t.Helper()
		if got := b.urgent(now, sized(flow, n)); got != want {
			t.Errorf("%v: %d bytes of flow %d urgent: %v, want %v", time.Duration(now), n, flow, got, want)
		}
	}
	expect(true, request, urgentBytes)
	expect(false, request, urgentBytes+1)
	expect(true, download, 40) // its first segment
	expect(false, download, 60000)
	expect(false, download, 700) // the last packet of a write
	expect(true, request, 64)    // of another flow at the same time
	now += mono.Time(bulkLast)
	expect(false, download, 40)
	now++
	expect(true, download, 40) // a new request after the transfer
	ack := []*frame.Frame{{Flow: download, Data: acknowledgement}}
	if b.urgent(now, ack) {
		t.Error("an acknowledgement of bulk data from the peer is urgent")
	}
	if b.urgent(now, append(sized(download, 60000), sized(request, 64)...)) != true {
		t.Error("a request behind bulk data is not urgent")
	}
}
