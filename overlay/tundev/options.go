package tundev

import (
	"fmt"

	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// What zero fields of Options stand for.
const (
	// DefaultTxQueueLen is counted in frames, and what Ethernet devices have: 5 ms
	// of small packets at 200,000 a second, in which the reader may wait for a
	// processor. It is not where packets of several flows queue: the reader empties
	// it at once into the ingress queue behind the device, which decides about delay.
	DefaultTxQueueLen = 1000

	// DefaultGSOMaxSize lets a super-frame fit into one train of 44 packets of
	// 1500 bytes, in bytes.
	DefaultGSOMaxSize = 62_000
)

// Options sets up a device. Zero fields take the defaults.
type Options struct {
	Pool         *Pool          // shared with the receiver; nil makes one
	FlowKey      packet.FlowKey // of the flow hash
	UnorderedUDP bool           // UDP frames are not marked for order restoration
	TxQueueLen   int            // frames
	GSOMaxSize   int            // bytes
	Queues       int            // at most MaxQueues
}

// Offloads says what the kernel granted. None of it is needed to work.
type Offloads struct {
	USO            bool     // UDP super-frames come whole (Linux 6.2)
	TxQueueLen     int      // frames; 0 when it could not be set
	GSOMaxSize     int      // bytes; 0 when it could not be set
	GSOMaxSegments int      // 0 when it could not be set
	Problems       []string // why something is missing
}

const tunOffloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_USO4 | unix.TUN_F_USO6

// tune asks for all optional features and notes what was refused. TUN_F_TSO_ECN
// is left out on purpose: the few frames with CWR come as single packets, cut
// by the kernel, which alone knows whether CWR belongs to one segment or to all
// (AccECN).
func (d *Device) tune(link netlink.Link, opts Options) {
	o := &d.offloads
	note := func(what string, err error) bool {
		if err != nil {
			o.Problems = append(o.Problems, fmt.Sprintf("%s: %v", what, err))
		}
		return err == nil
	}
	// The device is created with these already where the kernel knows them;
	// asking again tells whether it does.
	o.USO = note("UDP segmentation offload", unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, tunOffloads))
	if n := orDefault(opts.TxQueueLen, DefaultTxQueueLen); note("txqueuelen", netlink.LinkSetTxQLen(link, n)) {
		o.TxQueueLen = n
	}
	if n := orDefault(opts.GSOMaxSize, DefaultGSOMaxSize); note("gso_max_size", netlink.LinkSetGSOMaxSize(link, n)) {
		o.GSOMaxSize = n
	}
	if note("gso_max_segs", netlink.LinkSetGSOMaxSegs(link, packet.MaxSegments)) {
		o.GSOMaxSegments = packet.MaxSegments
	}
}

func orDefault(v, standard int) int {
	if v <= 0 {
		return standard
	}
	return v
}
