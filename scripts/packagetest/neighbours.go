package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// neighbourPackages are other programs that manage interfaces. systemd-networkd is part of
// systemd.
const neighbourPackages = "udev,network-manager,libpam-systemd"

// quiet prevents the neighbours from running in checks that do not start them. Otherwise
// udev's trigger would ask the host's kernel to announce all its devices again.
func quiet(root string) error {
	_, err := output("systemctl", "--root="+root, "mask", "systemd-udev-trigger.service", "NetworkManager-wait-online.service", "systemd-networkd-wait-online.service")
	_, other := output("systemctl", "--root="+root, "disable", "NetworkManager.service", "systemd-networkd.service")
	return errors.Join(err, other)
}

// greedy is an administrator's network file that matches every TUN.
const greedy = "[Match]\nKind=tun\n[Network]\nAddress=198.51.100.9/32\n"

// given is the address of an interface that systemd-networkd manages.
const given = "198.51.100.9/32"

// A neighbour notices a new interface within the time neighbourMost.
const neighbourMost = 20 * time.Second

// neighbours runs NetworkManager and systemd-networkd, the latter with a file that matches
// every TUN. Interfaces are created in all ways: by a service, under another name than their
// file's, and by hand. The last one is the TUN of another program.
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
	// A restart keeps the device. Neither another announcement nor a restart of the neighbours
	// may change anything.
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
	// The interface's name is free again. If another program creates a TUN with this name, it
	// does not belong to srdtun.
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

// leftAlone waits until systemd-networkd has configured the foreign TUN. By then it has seen
// the other interfaces. Neither neighbour may manage these.
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
