package view

import (
	"fmt"
	"time"

	"github.com/srdtun/srdtun/overlay/control"
)

// now is the time at which all samples are shown.
var now = time.Date(2026, 11, 22, 14, 3, 22, 0, time.UTC)

// wide returns the status of an interface with one peer. It has the given number of paths, between
// two local and two remote addresses. Every line of the screen has content.
func wide(paths int) *control.Status {
	p := control.Peer{
		Name: "hub", PublicKey: "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=", HasPresharedKey: true,
		Endpoint: "198.51.100.9:51820", HeardFrom: "198.51.100.9:41822", Endpoints: []string{"hub.example:51820"},
		AllowedIPs: []string{"10.9.0.0/24", "10.20.0.0/16", "fd00:9::/64"}, LatestHandshakeUnixS: now.Unix() - 71,
		RxBytes: 3 << 30, TxBytes: 91 << 30, PersistentKeepaliveS: 25, Cipher: "aes-256-gcm", Policy: "spray",
		CwndBytes: 2 << 20, BytesInFlight: 2<<20 - 1400, RateBytesPerS: 156250000, DeliveredBytesPerS: 118750000, PacketBytes: 1472,
		PathQueueUs: 3100, PathQueueTargetUs: 2000,
		WaitedUs: map[string]uint64{"data": 9e9, "window": 7e8, "pacing": 1e6},
		Recent:   control.Recent{OverUs: 1_300_000, WaitedUs: map[string]uint64{"data": 400_000, "window": 806_000, "pacing": 60_000}},
		Messages: control.Messages{Sent: 98_000_000, Acked: 97_998_600, Retransmitted: 1210, Spurious: 12, GivenUp: 3},
		Order:    control.Order{HeldFrames: 5, HeldBytes: 7000, ReleasedByTimeout: 6, LongestHoldUs: 21_500},
		Queue:    control.Queue{Frames: 12, Bytes: 700_000, Marks: 310, Drops: 42},
		Drops:    map[string]uint64{"queue_codel": 42, "replayed": 11},
	}
	for i := range paths {
		local, remote := i/2%2+1, i%2+9
		v := control.Path{
			Slot: uint16(i), Local: fmt.Sprintf("192.0.2.%d:%d", local, 40000+i/4), Remote: fmt.Sprintf("198.51.100.%d:51820", remote),
			State: control.PathActive, SRTTUs: int64(400 + 13*(i%7) + 9000*(remote-9)), BaseRTTUs: 380, MTU: 1500,
			SentPackets: 1_000_000, SentBytes: 1472 << 20, Lost: uint64(i % 3 * 400), Weight: uint32(1000 / paths),
		}
		v.QueueUs = v.SRTTUs - v.BaseRTTUs
		if i%16 == 5 {
			v.State = control.PathDown
		}
		p.Paths = append(p.Paths, v)
	}
	return &control.Status{
		Schema: 1, Interface: "lab", PublicKey: "HIgo9xNzJMWLKASShiTqIybxZ0U3wGLiUeJ1PKf8ykw=", ListenPort: 51820, MTU: 1500,
		FwMark: 0xca6c, Cipher: "auto", UptimeS: 3723, Version: "v0.9.0", Receives: control.Receives{Merged: true},
		Drops: map[string]uint64{"unknown_index": 4, "kernel_filter_or_full_buffer": 2, "device_read_too_long": 3, "no_route": 17},
		Peers: []control.Peer{p},
	}
}

// later returns the status as it is after the time d. All paths have carried more bytes than in st,
// and the paths for which dead() returns true are down.
func later(st *control.Status, d time.Duration, dead func(*control.Path) bool) *control.Status {
	v := *st
	v.UptimeS += int64(d.Seconds())
	v.Peers = append([]control.Peer(nil), st.Peers...)
	p := &v.Peers[0]
	p.TxBytes += uint64(d.Seconds() * 118e6)
	p.RxBytes += uint64(d.Seconds() * 1.2e6)
	p.Paths = append([]control.Path(nil), p.Paths...)
	for i := range p.Paths {
		q := &p.Paths[i]
		if q.State = control.PathActive; dead(q) {
			q.State = control.PathDown
			q.Lost += uint64(d.Seconds() * 10)
			q.SentPackets += uint64(d.Seconds() * 10)
			continue
		}
		q.SRTTUs += int64(d.Seconds()*float64(q.Slot%5)*40) % 500
		q.SentPackets += uint64(d.Seconds() * 1000)
		q.SentBytes += uint64(d.Seconds() * 1472000)
		q.Lost += uint64(d.Seconds() * float64(q.Slot%3))
	}
	return &v
}
