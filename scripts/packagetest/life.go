package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// until waits for a condition, and returns an error after a time limit.
func until(what string, ok func() bool) error {
	for range 300 {
		if ok() {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("not within 30 s: %s", what)
}

func active(unit string) bool {
	out, _ := output("systemctl", "is-active", unit)
	return out == "active"
}

func (h *host) killed() error {
	if _, err := output("systemctl", "kill", "--signal=KILL", lab); err != nil {
		return err
	}
	if err := until("it is started again", func() bool {
		n, _ := output("systemctl", "show", "-P", "NRestarts", lab)
		return n == "1" && active(lab)
	}); err != nil {
		return err
	}
	h.index = index() // no process has passed on the old device
	return h.flows()
}

// fullTable is the routing table of the first tunnel with a default route (firstTable in package
// netconf).
const fullTable = "51564"

// full writes a configuration with a default route. The configuration's port differs from that of
// the first interface.
func full(name string) error {
	private, public, err := newKeys()
	if err != nil {
		return err
	}
	if err := write(name, private, "10.8.0.1/24", public, "0.0.0.0/0", ""); err != nil {
		return err
	}
	_, err = output("sed", "-i", "s/^address/listen_port = 51821\\naddress/", "/etc/srdtun/"+name+".toml")
	return err
}

// fullTunnel tests a tunnel with a default route, which needs policy rules. The removal of the
// device does not remove any rule.
func (h *host) fullTunnel() error {
	if err := full("full"); err != nil {
		return err
	}
	clean, err := output("ip", "rule")
	if err != nil {
		return err
	}
	if _, err := output("systemctl", "start", "srdtun@full"); err != nil {
		return err
	}
	ruled, _ := output("ip", "rule")
	if !strings.Contains(ruled, "lookup "+fullTable) {
		return fmt.Errorf("no rule: %s", ruled)
	}
	if _, err := output("systemctl", "restart", "srdtun@full"); err != nil {
		return err
	}
	if now, _ := output("ip", "rule"); now != ruled {
		return fmt.Errorf("rules %s were %s", now, ruled)
	}
	if out, _ := output("ip", "route", "show", "table", fullTable); !strings.HasPrefix(out, "default dev full") {
		return fmt.Errorf("the route is gone: %s", out)
	}
	// At this point, the configuration file becomes invalid. The next process cannot run, and
	// must leave no state behind.
	if _, err := output("sed", "-i", "s/^address/adress/", "/etc/srdtun/full.toml"); err != nil {
		return err
	}
	if _, err := output("systemctl", "restart", "srdtun@full"); err == nil {
		return errors.New("a wrong file started")
	}
	if now, _ := output("ip", "rule"); now != clean {
		return fmt.Errorf("rules are left: %s", now)
	}
	if _, err := os.Stat("/sys/class/net/full"); err == nil {
		return errors.New("the device is left")
	}
	return nil
}

// oneKey starts two services with the same private key, which call the same peer.
func (h *host) oneKey() error {
	private, public, err := newKeys()
	if err != nil {
		return err
	}
	for i, name := range []string{"one", "two"} {
		if err := write(name, private, fmt.Sprintf("10.3.%d.1/24", i), public, fmt.Sprintf("10.3.%d.2/32", i), "endpoints = [\"192.0.2.77:51820\"]"); err != nil {
			return err
		}
		if _, err := output("sed", "-i", "s/^address/listen_port = 0\\naddress/", "/etc/srdtun/"+name+".toml"); err != nil {
			return err
		}
	}
	if _, err := output("systemctl", "start", "srdtun@one"); err != nil {
		return err
	}
	if out, err := output("systemctl", "start", "srdtun@two"); err == nil {
		return fmt.Errorf("the second started: %s", out)
	}
	const why = "/etc/srdtun/two.toml:2: interface.private_key: one (/etc/srdtun/one.toml) has the same private key, and both call peer "
	if log, _ := output("journalctl", "--no-pager", "-b", "-u", "srdtun@two"); !strings.Contains(log, why) || strings.Contains(log, private) {
		return fmt.Errorf("the journal: %s", log)
	}
	if _, err := output("systemctl", "stop", "srdtun@one"); err != nil {
		return err
	}
	if err := until("the second starts", func() bool { return active("srdtun@two") }); err != nil {
		return err
	}
	_, err = output("sh", "-c", "systemctl stop srdtun@two && rm /etc/srdtun/one.toml /etc/srdtun/two.toml")
	return err
}

func (h *host) reconfigured() error {
	if _, err := output("sed", "-i", "s/^address/mtu = 1400\\naddress/", "/etc/srdtun/lab.toml"); err != nil {
		return err
	}
	if _, err := output("systemctl", "restart", lab); err != nil {
		return err
	}
	mtu, _ := os.ReadFile("/sys/class/net/lab/mtu")
	if strings.TrimSpace(string(mtu)) != "1400" || index() == h.index {
		return fmt.Errorf("mtu %s, device %s was %s", mtu, index(), h.index)
	}
	h.index = index()
	return h.flows()
}

func (h *host) upgraded() error {
	if _, err := output("dpkg", "-i", shared("srdtun-2.deb")); err != nil {
		return err
	}
	if err := until("the new program runs", func() bool {
		out, _ := output("sh", "-c", `/proc/$(systemctl show -P MainPID `+lab+`)/exe version`)
		return active(lab) && strings.HasPrefix(out, "srdtun 0.9.1 ")
	}); err != nil {
		return err
	}
	if now := index(); now != h.index {
		return fmt.Errorf("device %s was %s", now, h.index)
	}
	return h.flows()
}

func (h *host) stopped() error {
	for _, s := range h.streams {
		s.from.Close()
		s.to.Close()
	}
	h.streams = nil
	if _, err := output("systemctl", "stop", lab); err != nil {
		return err
	}
	if index() != "" {
		return errors.New("the device is left")
	}
	left, err := os.ReadDir("/run/srdtun")
	if err != nil {
		return err
	}
	for _, f := range left {
		// The file with the peers' endpoints stays, so that the next process can reach the peers.
		if !strings.HasPrefix(f.Name(), "far.") && !strings.HasSuffix(f.Name(), ".lock") && !strings.HasSuffix(f.Name(), ".peers") {
			return fmt.Errorf("%s is left", f.Name())
		}
	}
	return nil
}

func (h *host) purged() error {
	if _, err := output("sh", "-c", "ip netns exec far srdtun down far; systemctl enable --now srdtun@lab"); err != nil {
		return err
	}
	// The files belong to an agent that ran as the daemons' user.
	const fleet = "/var/lib/srdtun-fleet"
	if _, err := output("sh", "-c", "mkdir -p "+fleet+"/old && touch "+fleet+"/old/x.toml && { ! id srdtun >/dev/null 2>&1 || chown -R srdtun "+fleet+"; }"); err != nil {
		return err
	}
	if _, err := output("dpkg", "--purge", "srdtun"); err != nil {
		return err
	}
	if out, err := output("find", fleet, "!", "-user", "root"); err != nil || out != "" {
		return fmt.Errorf("left to the next user of that number: %s, %v", out, err)
	}
	if err := os.RemoveAll(fleet); err != nil {
		return err
	}
	if index() != "" || active(lab) {
		return errors.New("it still runs")
	}
	return sameFiles(h.before)
}

func sameFiles(before []string) error {
	var left []string
	for _, f := range files() {
		if !slices.Contains(before, f) {
			left = append(left, f)
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("left: %s", strings.Join(left, ", "))
	}
	return nil
}

func (h *host) rpm() error {
	// The option --nodeps is needed because Debian's rpm has no record of Debian's packages.
	if _, err := output("rpm", "-i", "--nodeps", shared("srdtun-1.rpm")); err != nil {
		return err
	}
	if out, err := output("rpm", "-V", "--nodeps", "srdtun"); err != nil {
		return fmt.Errorf("rpm -V: %s: %w", out, err)
	}
	if err := configure(); err != nil {
		return err
	}
	if _, err := output("systemctl", "start", lab); err != nil {
		return err
	}
	first := index()
	if _, err := output("rpm", "-U", "--nodeps", shared("srdtun-2.rpm")); err != nil {
		return err
	}
	if !active(lab) || first == "" || index() != first {
		return fmt.Errorf("after an upgrade: active %v, device %s was %s", active(lab), index(), first)
	}
	if _, err := output("rpm", "-e", "--nodeps", "srdtun"); err != nil {
		return err
	}
	if active(lab) || index() != "" {
		return errors.New("it still runs")
	}
	if _, err := os.Stat("/usr/bin/srdtun"); err == nil {
		return errors.New("the program is left")
	}
	return nil
}
