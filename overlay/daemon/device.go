package daemon

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/srdtun/srdtun/config"
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
	lost    atomic.Pointer[string] // why settings that were removed could not be put back; nil or "": none
}

// faults names a state of the interface in which nothing or not all passes, for `show` and its
// --check.
func (d *device) faults() []string {
	name := d.tun.Name()
	switch lost := d.lost.Load(); {
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
	if _, err := net.InterfaceByName(c.Interface.Name); err == nil {
		// If a device with the configured name already exists, it belongs to another program. The
		// kernel might still let this process attach to it.
		return fmt.Errorf("interface %s: there is a device of that name already%s", c.Interface.Name, holderOf(c.Interface.Name))
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

// holderOf describes the daemon that already uses a device with the given name. If two daemons
// use the same device name, one is a service, and the other was started by hand. A service and a
// daemon started by hand use different run directories, so neither sees the other's lock file.
func holderOf(name string) string {
	there := func(path ...string) bool {
		_, err := os.Lstat(filepath.Join(path...) + rundir.Socket)
		return err == nil
	}
	switch dir := rundir.Dir(); {
	case there(dir, name, name):
		return "; the service srdtun@" + name + " runs it: systemctl stop srdtun@" + name
	case filepath.Base(dir) == name && there(filepath.Dir(dir), name):
		return "; it was started by hand: srdtun down " + name
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
			return state, err
		}
	}
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
