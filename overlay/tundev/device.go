package tundev

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
	"golang.zx2c4.com/wireguard/tun"
)

// Device is an open TUN device. Methods of Device are safe for concurrent use.
type Device struct {
	native   tun.Device
	name     string
	index    int
	offloads Offloads
	opts     Options
	pool     *Pool
	header   int // bytes of the virtio header

	// Every use of the descriptors holds the read lock of life, and Close takes the write lock.
	life   sync.RWMutex
	closed bool
	fd     int      // the file of the field native owns the descriptor
	queues []*Queue // the first queue uses fd

	counter counters
}

// Open creates the TUN device with the given name and MTU in bytes. If the name contains %d, the
// kernel inserts a number. Open requires CAP_NET_ADMIN, and creates the device in the network
// namespace of the calling thread. If the kernel refuses an optional feature, Open still
// succeeds, and Offloads lists the granted features.
func Open(name string, mtu int, opts Options) (*Device, error) {
	several := opts.Queues > 1
	asked := name
	file, name, err := attach(asked, several)
	if err != nil {
		return nil, failed(asked, err)
	}
	return wrap(file, nil, name, mtu, opts)
}

// wrap returns a device for its first queue, and for the other queues if the device was passed
// on. The device takes ownership of the files, even if wrap() fails.
func wrap(file *os.File, others []*os.File, name string, mtu int, opts Options) (*Device, error) {
	native, err := tun.CreateTUNFromFile(file, mtu)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("TUN device %s: %w", name, err), closeFiles(append(others, file)))
	}
	d := &Device{native: native, opts: opts, pool: opts.Pool, header: packet.VnetHeaderLen}
	if d.pool == nil {
		d.pool = &Pool{}
	}
	if err := d.setUp(others); err != nil {
		d.Close()
		return nil, fmt.Errorf("set up TUN device %s: %w", name, err)
	}
	return d, nil
}

// setUp adds the other queues that were passed on, or opens as many queues as the options
// specify.
func (d *Device) setUp(others []*os.File) error {
	var err error
	if d.name, err = d.native.Name(); err != nil {
		return err
	}
	raw, err := d.native.File().SyscallConn()
	if err != nil {
		return err
	}
	if err := raw.Control(func(fd uintptr) { d.fd = int(fd) }); err != nil {
		return err
	}
	if err := d.requireVnetHeader(); err != nil {
		return err
	}
	link, err := netlink.LinkByName(d.name)
	if err != nil {
		return err
	}
	d.index = link.Attrs().Index
	d.queues = []*Queue{{dev: d, fd: d.fd}}
	for _, f := range others {
		d.addQueue(f)
	}
	if others == nil {
		d.addQueues(min(d.opts.Queues, MaxQueues) - 1)
	}
	d.tune(link, d.opts)
	return nil
}

// requireVnetHeader checks that the device uses the virtio header, because reads and writes rely on
// it.
func (d *Device) requireVnetHeader() error {
	ifr, err := unix.NewIfreq(d.name)
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(d.fd, unix.TUNGETIFF, ifr); err != nil {
		return fmt.Errorf("TUNGETIFF: %w", err)
	}
	if ifr.Uint16()&unix.IFF_VNET_HDR == 0 {
		return fmt.Errorf("the kernel gives no virtio header (IFF_VNET_HDR)")
	}
	return nil
}

// Close closes all descriptors, which removes the device.
func (d *Device) Close() error {
	d.life.Lock()
	if d.closed {
		d.life.Unlock()
		return nil
	}
	d.closed = true
	err := d.native.Close()
	for _, q := range d.queues {
		if q.file != nil {
			err = errors.Join(err, q.file.Close())
		}
		q.reader.release()
	}
	d.life.Unlock()
	// The goroutines of package tun end only when their events are read.
	for range d.native.Events() {
	}
	// The goroutine of package tun that reports link changes may end just before Close wakes it.
	// Then the pipe for waking it is already closed, which causes this error. The device is closed
	// nevertheless.
	if errors.Is(err, os.ErrClosed) || errors.Is(err, unix.EPIPE) {
		return nil
	}
	return err
}

// Name returns the interface name.
func (d *Device) Name() string { return d.name }

// Index returns the interface index.
func (d *Device) Index() int { return d.index }

// Pool returns the pool of the device's frames.
func (d *Device) Pool() *Pool { return d.pool }

// Offloads returns the features that the kernel granted.
func (d *Device) Offloads() Offloads {
	o := d.offloads
	o.Problems = slices.Clone(o.Problems)
	return o
}

// MTU returns the current MTU in bytes, which an administrator may have changed.
func (d *Device) MTU() (int, error) {
	d.life.RLock()
	defer d.life.RUnlock()
	if d.closed {
		return 0, os.ErrClosed
	}
	return d.native.MTU()
}

// Events returns a channel of the device's events: up, down, and a changed MTU. Close also
// closes the channel of Events.
func (d *Device) Events() <-chan tun.Event { return d.native.Events() }
