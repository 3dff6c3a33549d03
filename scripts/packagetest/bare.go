package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// withoutSystemd tests the deb package on a system without systemd, such as a container, from
// installation to removal.
func (h *host) withoutSystemd() error {
	if _, err := os.Stat("/run/systemd/system"); err == nil {
		return errors.New("systemd runs here")
	}
	for _, c := range []string{
		"ip link set lo up",
		// A user who changes a package repacks it.
		"dpkg-deb -R " + shared("srdtun-1.deb") + " /tmp/unpacked && dpkg-deb -Znone -b /tmp/unpacked /tmp/anew.deb",
	} {
		if _, err := output("sh", "-c", c); err != nil {
			return err
		}
	}
	before := files()
	if err := h.installed(); err != nil {
		return err
	}
	if err := all([]says{
		{"public key", "srdtun init lab"},
		{"ok", "srdtun check lab"},
		{"", "srdtun up -d lab"},
		{"interface: lab", "srdtun show lab"},
		{"", "dpkg -i " + shared("srdtun-2.deb")},
		{"srdtun 0.9.1 ", "srdtun version"},
		{"interface: lab", "srdtun show lab"},
		{"", "srdtun down lab"},
		{"", "dpkg --purge srdtun"},
	}); err != nil {
		return err
	}
	return sameFiles(before)
}

// says is a command with an expected part of the command's output.
type says struct{ want, command string }

func all(commands []says) error {
	for _, c := range commands {
		if out, err := output("sh", "-c", c.command); err != nil || !strings.Contains(out, c.want) {
			return fmt.Errorf("%s does not say %q: %s, %v", c.command, c.want, out, err)
		}
	}
	return nil
}
