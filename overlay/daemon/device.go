package daemon

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/holder"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/frame"
	"github.com/srdtun/srdtun/overlay/merge"
	"github.com/srdtun/srdtun/overlay/netconf"
	"github.com/srdtun/srdtun/overlay/packet"
	"github.com/srdtun/srdtun/overlay/tundev"
)

// device is the TUN device and its network settings on this host.
type device struct {
	log     *eventLog
	running *runningConfig
	tun     *tundev.Device
	net     *netconf.State
	mergers sync.Pool              // of *merge.Merger
	spare   func(error) bool       // leaves out guests whose routes prevent the start; false: there are none
	setDown atomic.Bool            // another program has set the interface down
	moved   atomic.Bool            // it is in another network namespace, without its addresses and routes
	lost    atomic.Pointer[string] // why settings that were removed could not be put back; nil or "": none
}

// faults names a state of the interface in which nothing or not all passes, for `show` and its
// --check.
func (d *device) faults() []string {
	name := d.tun.Name()
	switch lost := d.lost.Load(); {
	case d.moved.Load():
		return []string{movedAway(name)}
	case d.setDown.Load():
		return []string{fmt.Sprintf("%s was set down: nothing passes until `ip link set %s up`", name, name)}
	case d.net.NothingPasses():
		return []string{fmt.Sprintf("IPv6 is off on %s, which has no IPv4 address or route: nothing passes until `sysctl net.ipv6.conf.%s.disable_ipv6=0`", name, name)}
	case lost != nil && *lost != "":
		return []string{fmt.Sprintf("%s: not put back: %s", name, *lost)}
	}
	return nil
}

func (d *device) open() (err error) {
	c := d.running.cfg()
	if err := d.absent(); err != nil {
		return err
	}
	d.tun, err = tundev.Open(c.Interface.Name, c.Interface.MTU, d.options())
	if err != nil {
		return err
	}
	for _, p := range d.tun.Offloads().Problems {
		d.log.tell(events.Fallback, p, "%s: without %s", c.Interface.Name, p)
	}
	if d.net, err = d.configure(); err != nil {
		return err
	}
	for _, w := range d.net.Warnings {
		d.log.tell(events.HostSetting, w, "%s", w)
	}
	return nil
}

// deviceWait bounds the wait for the device of a killed process. The kernel removes such a device a
// few milliseconds after it has released the process's lock.
const (
	deviceWait  = 500 * time.Millisecond
	devicePause = 20 * time.Millisecond
)

// absent returns an error if a device with the configured name exists. Such a device belongs to
// another program, and the kernel might still let this process attach to it.
func (d *device) absent() error {
	name := d.running.cfg().Interface.Name
	for patient := time.Now().Add(deviceWait); ; time.Sleep(devicePause) {
		if _, err := net.InterfaceByName(name); err != nil {
			return nil
		}
		if time.Now().After(patient) {
			return d.running.cfg().Fault("interface", "name", "there is a device of that name already%s", holderOf(name))
		}
	}
}

// holderOf describes the daemon or other program that has a device of the given name open. A
// service and a daemon started by hand have different run directories, so neither finds the other's
// lock. A directory alone proves nothing: this process may be the service that has it.
func holderOf(name string) string {
	own, err := rundir.Path(name, rundir.Socket)
	if err != nil {
		return ""
	}
	all, _ := rundir.All() // without a run directory there is no other daemon
	for _, at := range all {
		socket, err := at.Socket()
		switch {
		case err != nil || at.Device != name || socket == own || rundir.Holder(socket).PID == 0:
		case at.Service != "":
			return "; the service srdtun@" + at.Service + " runs it: systemctl stop srdtun@" + at.Service
		default:
			return "; it was started by hand: srdtun down " + name
		}
	}
	return opener(name)
}

// opener names the process that has a device open, or returns "" if it is unknown.
func opener(name string) string {
	if p := holder.OfDevice(name); p.PID != 0 {
		return fmt.Sprintf(", which %v has open", p)
	}
	return ""
}

func (d *device) options() tundev.Options {
	return tundev.Options{
		FlowKey:      packet.FlowKey{random64(), random64()},
		UnorderedUDP: d.running.cfg().Order.UDP == "unordered",
		Queues:       workers(d.running.cfg().Interface.Workers),
		NoOffload:    d.running.cfg().Interface.NoOffload,
	}
}

func (d *device) configure() (*netconf.State, error) {
	file, err := netconf.StatePath(d.running.cfg().Interface.Name)
	if err != nil {
		return nil, err
	}
	for {
		state, err := netconf.Apply(d.plan(d.running.cfg(), file))
		if err == nil || d.spare == nil || !d.spare(err) {
			return state, located(d.running.cfg(), err)
		}
	}
}

// located adds file, line and key to an error of the network settings that a value of c causes.
func located(c *config.Config, err error) error {
	var address *netconf.AddressError
	var route *netconf.RouteError
	switch {
	case errors.As(err, &address):
		return c.Fault("interface", "address", "%w", err)
	case errors.As(err, &route):
		i := slices.IndexFunc(c.Peers, func(p config.Peer) bool { return slices.Contains(p.AllowedIPs, route.Prefix) })
		if i >= 0 {
			return c.FaultOf(i, "allowed_ips", err)
		}
	}
	return err
}

// plan returns the network settings for c, whose state is saved in file.
func (d *device) plan(c *config.Config, file string) netconf.Plan {
	link := c.Interface.Name
	if d.tun != nil {
		link = d.tun.Name() // somebody may have renamed the device
	}
	return planOf(c, link, file)
}

func planOf(c *config.Config, link, file string) netconf.Plan {
	return netconf.Plan{
		Link:      link,
		MTU:       c.Interface.MTU,
		Addresses: c.Interface.Address,
		Routes:    allowedIPs(c),
		Table:     netconf.Table{Off: c.Interface.Table.Off, ID: c.Interface.Table.ID},
		FwMark:    c.Interface.FwMark,
		StateFile: file,
	}
}

// mtu returns the current MTU of the device. Another program may have changed the MTU since the
// start.
func (d *device) mtu() int {
	if i, err := net.InterfaceByName(d.tun.Name()); err == nil {
		return i.MTU
	}
	return d.running.cfg().Interface.MTU
}

// newMerger returns a merger, which joins packets into super-frames for the device. A merger is
// empty after Flush, so any writer may use it.
func (d *device) newMerger() any {
	o := d.tun.Offloads()
	return merge.New(merge.Config{Off: o.Off, UDP: o.USO, Tunnels: o.Tunnels, Alloc: d.tun.Pool().Get, Write: func(f *frame.Frame, what merge.Outcome) {
		write(d.tun, f, what)
	}})
}

// write writes a frame to the device. The device counts the frames that cannot be written. Writes
// fail permanently only if the device has been removed. Reads then fail too, and end the daemon.
func write(dev *tundev.Device, f *frame.Frame, what merge.Outcome) {
	defer f.Release()
	if what == merge.Joined {
		_ = dev.WriteJoined(f)
	} else {
		_ = dev.Write(f)
	}
}
