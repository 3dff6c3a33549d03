package tundev

import (
	"errors"
	"fmt"

	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// These constants are the defaults of Options.
const (
	// DefaultTxQueueLen is the default length of the device's queue in frames, equal to that of
	// Ethernet devices. While the reading thread waits for a processor, the queue can hold the
	// packets of 5 ms at 200,000 packets a second. If there are several flows, the reading thread
	// immediately moves their packets to the peers' queues, which control the delay.
	DefaultTxQueueLen = 1000

	// DefaultGSOMaxSize is the default limit for super-frames from the kernel, in bytes. A
	// super-frame of 62,000 bytes fits into one burst of 44 packets of 1500 bytes.
	DefaultGSOMaxSize = 62_000
)

// Options has the settings of a device. For fields that are zero, the defaults apply.
type Options struct {
	Pool         *Pool          // shared with the receiver; nil: a new pool
	FlowKey      packet.FlowKey // key of the flow hash
	UnorderedUDP bool           // UDP frames are not marked for order restoration
	TxQueueLen   int            // frames
	GSOMaxSize   int            // bytes
	Queues       int            // at most MaxQueues
	NoOffload    bool           // single packets with complete checksums pass the device
}

// Offloads lists the features that the kernel granted. The device also works without optional
// features.
type Offloads struct {
	Off            bool     // no offload was requested: Options.NoOffload
	Tunnels        bool     // super-frames of UDP tunnels are read and written whole (Linux 6.17)
	USO            bool     // UDP super-frames are read whole (Linux 6.2)
	TxQueueLen     int      // frames; 0 when it could not be set
	GSOMaxSize     int      // bytes; 0 when it could not be set
	GSOMaxSegments int      // 0 when it could not be set
	Problems       []string // why a feature is missing
}

// DefaultTunnelMaxSize replaces DefaultGSOMaxSize on kernels that deliver super-frames of UDP
// tunnels whole. It is in bytes. The kernel builds super-frames of UDP tunnels on the tunnel's own
// device, whose limit is 65,536 by default. If the TUN device had a lower limit, the kernel would
// cut these super-frames.
const DefaultTunnelMaxSize = 65_536

// These flags of TUNSETOFFLOAD request the offloads of UDP tunnels and their outer checksums
// (linux/if_tun.h).
const (
	tunTunnelGSO  = 0x080
	tunTunnelCSum = 0x100
)

const tunOffloads = unix.TUN_F_CSUM | unix.TUN_F_TSO4 | unix.TUN_F_TSO6 | unix.TUN_F_USO4 | unix.TUN_F_USO6

// tune requests all optional features and records refusals. The method tune() does not request
// TUN_F_TSO_ECN, so the kernel cuts the few frames with CWR into single packets. Only the kernel
// can cut them correctly, because CWR may belong to one segment or, with AccECN, to all.
func (d *Device) tune(link netlink.Link, opts Options) {
	o := &d.offloads
	note := func(what string, err error) bool {
		if err != nil {
			o.Problems = append(o.Problems, fmt.Sprintf("%s: %v", what, err))
		}
		return err == nil
	}
	// Package tun has already requested these features, and the second request shows whether the
	// kernel supports them.
	if o.Off = opts.NoOffload; o.Off {
		note("offload = false", d.refuseOffloads())
	} else {
		o.Tunnels = note("UDP tunnel segmentation offload", d.takeTunnels())
		o.USO = o.Tunnels || note("UDP segmentation offload", unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, tunOffloads))
	}
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

// takeTunnels requests super-frames of UDP tunnels, which need the longer virtio header. The
// setting applies to all queues of the device. No goroutine reads the device yet, so the header's
// length can change.
func (d *Device) takeTunnels() error {
	if err := d.setHeader(packet.VnetTunnelHeaderLen); err != nil {
		return err
	}
	if err := unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, tunOffloads|tunTunnelGSO|tunTunnelCSum); err != nil {
		return errors.Join(err, d.setHeader(packet.VnetHeaderLen))
	}
	return nil
}

// refuseOffloads asks for single packets with complete checksums. This is needed because package
// tun has requested super-frames, and because an earlier process may have set a longer header.
func (d *Device) refuseOffloads() error {
	if err := d.setHeader(packet.VnetHeaderLen); err != nil {
		return err
	}
	return unix.IoctlSetInt(d.fd, unix.TUNSETOFFLOAD, 0)
}

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
