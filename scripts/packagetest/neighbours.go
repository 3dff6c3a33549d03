package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// neighbourPackages are packages of other programs that manage network interfaces.
// systemd-networkd is part of systemd.
const neighbourPackages = "udev,network-manager,libpam-systemd"

// quiet keeps the other network managers from running in checks that do not need them. If udev
// ran, it would make the host's kernel announce all its devices again.
func quiet(root string) error {
	_, err := output("systemctl", "--root="+root, "mask", "systemd-udev-trigger.service", "NetworkManager-wait-online.service", "systemd-networkd-wait-online.service")
	_, other := output("systemctl", "--root="+root, "disable", "NetworkManager.service", "systemd-networkd.service")
	return errors.Join(err, other)
}

// greedy is a systemd-networkd file that matches every TUN device.
const greedy = "[Match]\nKind=tun\n[Network]\nAddress=198.51.100.9/32\n"

// given is the address that systemd-networkd gives to the devices it manages.
const given = "198.51.100.9/32"

// neighbourMost bounds the time in which a network manager notices a new interface.
const neighbourMost = 20 * time.Second

// neighbours runs NetworkManager, and systemd-networkd with a file that matches every TUN device.
// The check creates interfaces by a service, by a service with another device name, and by hand.
// The last TUN device belongs to another program.
func (h *host) neighbours() error {
	if _, err := os.Stat("/usr/sbin/NetworkManager"); err != nil {
		return fmt.Errorf("this root is of an earlier version, make it anew: %w", err)
	}
	config := func(name, more, address string) string {
		return fmt.Sprintf("umask 077; mkdir -p /etc/srdtun; printf '[interface]\\nprivate_key = \"%%s\"\\naddress = \"%s\"\\nlisten_port = 0\\n%s' \"$(srdtun genkey)\" >%s", address, more, name)
	}
	if err := errors.Join(
		os.MkdirAll("/etc/systemd/network", 0o755),
		os.WriteFile("/etc/systemd/network/10-all.network", []byte(greedy), 0o644),
	); err != nil {
		return err
	}
	if err := all([]says{
		{"", "systemctl start systemd-udevd systemd-networkd NetworkManager"},
		{"", "dpkg -i " + shared("srdtun-1.deb")},
		{"", config("/etc/srdtun/lab.toml", "", "10.80.0.1/24")},
		{"", config("/etc/srdtun/odd.toml", `name = "other"\n`, "10.81.0.1/24")},
		{"", config("/root/hand.toml", "", "10.82.0.1/24")},
		{"", "systemctl start srdtun@lab srdtun@odd"},
		{"", "srdtun up -d /root/hand.toml"},
		{"", "ip tuntap add dev foreign mode tun && ip link set foreign up"},
	}); err != nil {
		return err
	}
	if err := leftAlone("lab", "other", "hand"); err != nil {
		return err
	}
	// A restart of the service keeps the device. Neither another announcement of the device nor a
	// restart of the network managers may change anything.
	if err := all([]says{
		{"", "systemctl restart srdtun@lab"},
		{"", "udevadm trigger -c change /sys/class/net/lab && udevadm settle"},
		{"", "systemctl restart systemd-networkd NetworkManager"},
	}); err != nil {
		return err
	}
	if err := leftAlone("lab", "other", "hand"); err != nil {
		return err
	}
	// No interface has the name lab any more. A TUN device that another program creates with the
	// name lab is not srdtun's.
	if err := all([]says{
		{"", "systemctl stop srdtun@lab"},
		{"", "ip tuntap add dev lab mode tun && ip link set lab up"},
	}); err != nil {
		return err
	}
	if err := taken("lab"); err != nil {
		return err
	}
	return all([]says{
		{"", "ip link del lab && ip link del foreign && srdtun down hand"},
		{"", "systemctl stop srdtun@odd systemd-networkd NetworkManager systemd-udevd-control.socket systemd-udevd-kernel.socket systemd-udevd"},
		{"", "rm /etc/systemd/network/10-all.network && dpkg --purge srdtun"},
	})
}

// leftAlone waits until systemd-networkd has configured the other program's TUN device, and so
// has noticed srdtun's interfaces. Neither network manager may manage srdtun's interfaces.
func leftAlone(names ...string) error {
	if err := taken("foreign"); err != nil {
		return err
	}
	for _, name := range names {
		if err := eventually(func() error {
			return all([]says{
				{"unmanaged", "networkctl --no-legend --no-pager list " + name},
				{name + ":unmanaged", "nmcli -t -f DEVICE,STATE device | grep ^" + name + ":"},
			})
		}); err != nil {
			return err
		}
		if out, err := output("ip", "-brief", "address", "show", "dev", name); err != nil || strings.Contains(out, given) {
			return fmt.Errorf("%s has an address that is not of its file: %s, %v", name, out, err)
		}
	}
	return nil
}

// taken waits until systemd-networkd manages an interface.
func taken(name string) error {
	return eventually(func() error {
		return all([]says{{"configuring", "networkctl --no-legend --no-pager list " + name}})
	})
}

func eventually(f func() error) (err error) {
	for end := time.Now().Add(neighbourMost); ; time.Sleep(200 * time.Millisecond) {
		if err = f(); err == nil || time.Now().After(end) {
			return err
		}
	}
}
