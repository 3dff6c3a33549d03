package tundev

import (
	"errors"
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
	Tunnels        bool     // super-frames of UDP tunnels come and go whole (Linux 6.17)
	USO            bool     // UDP super-frames come whole (Linux 6.2)
	TxQueueLen     int      // frames; 0 when it could not be set
	GSOMaxSize     int      // bytes; 0 when it could not be set
	GSOMaxSegments int      // 0 when it could not be set
	Problems       []string // why something is missing
}

// DefaultTunnelMaxSize is the same where super-frames of UDP tunnels come whole, in bytes.
// The kernel makes them on the tunnel's own device, whose limit is 65,536 unless somebody
// sets another, and cuts them up again before a device with a lower one.
const DefaultTunnelMaxSize = 65_536

// Offloads of UDP tunnels and their outer checksums (linux/if_tun.h).
const (
	tunTunnelGSO  = 0x080
	tunTunnelCSum = 0x100
)

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
	o.Tunnels = note("UDP tunnel segmentation offload", d.takeTunnels())
	o.USO = o.Tunnels || note("UDP segmentation offload", unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, tunOffloads))
	if n := orDefault(opts.TxQueueLen, DefaultTxQueueLen); note("txqueuelen", netlink.LinkSetTxQLen(link, n)) {
		o.TxQueueLen = n
	}
	longest := DefaultGSOMaxSize
	if o.Tunnels {
		longest = DefaultTunnelMaxSize
	}
	if n := orDefault(opts.GSOMaxSize, longest); note("gso_max_size", netlink.LinkSetGSOMaxSize(link, n)) {
		o.GSOMaxSize = n
	}
	if note("gso_max_segs", netlink.LinkSetGSOMaxSegs(link, packet.MaxSegments)) {
		o.GSOMaxSegments = packet.MaxSegments
	}
}

// takeTunnels asks for super-frames of UDP tunnels, which come with a longer header. The
// header is that of all queues; nobody reads yet.
func (d *Device) takeTunnels() error {
	if err := d.setHeader(packet.VnetTunnelHeaderLen); err != nil {
		return err
	}
	if err := unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, tunOffloads|tunTunnelGSO|tunTunnelCSum); err != nil {
		return errors.Join(err, d.setHeader(packet.VnetHeaderLen))
	}
	return nil
}

// setHeader sets the length of the virtio header in bytes.
func (d *Device) setHeader(n int) error {
	if err := unix.IoctlSetPointerInt(d.fd, unix.TUNSETVNETHDRSZ, n); err != nil {
		return err
	}
	d.header = n
	return nil
}

func orDefault(v, standard int) int {
	if v <= 0 {
		return standard
	}
	return v
}
