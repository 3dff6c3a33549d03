package main

import (
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// oneUser is the systemd unit of versions before v1.0. Before v1.0, all services ran as the user
// srdtun, who owned the run directory.
//
//go:embed testdata/one-user.service
var oneUser []byte

// datagrams is a series of numbered datagrams to the restarted host, one in each pause.
type datagrams struct {
	there, here net.Conn
	sent, came  atomic.Int64
	end         atomic.Bool
}

func sendDatagrams() (*datagrams, error) {
	here, err := net.ListenPacket("udp", "10.9.0.1:0")
	if err != nil {
		return nil, err
	}
	d := &datagrams{here: here.(*net.UDPConn)}
	if err := far(func() (err error) {
		d.there, err = net.Dial("udp", here.LocalAddr().String())
		return err
	}); err != nil {
		return nil, err
	}
	go func() {
		for b := make([]byte, 8); !d.end.Load(); time.Sleep(pause) {
			binary.BigEndian.PutUint64(b, uint64(d.sent.Load()))
			if _, err := d.there.Write(b); err == nil {
				d.sent.Add(1)
			}
		}
	}()
	go func() {
		seen := map[uint64]bool{}
		for b := make([]byte, 64); ; {
			n, err := d.here.Read(b)
			if err != nil {
				return
			}
			if number := binary.BigEndian.Uint64(b); n == 8 && !seen[number] {
				seen[number] = true
				d.came.Add(1)
			}
		}
	}()
	return d, nil
}

// lost ends the series, and returns the number of sent datagrams and of lost datagrams.
func (d *datagrams) lost() (sent, lost int64) {
	d.end.Store(true)
	time.Sleep(time.Second) // wait for datagrams in flight
	d.there.Close()
	d.here.Close()
	return d.sent.Load(), d.sent.Load() - d.came.Load()
}

// divided upgrades from a version in which all services ran as one user. The tunnels must keep
// working during the upgrade. The new service must find the policy rules that outlived the
// device. After the upgrade, no file may belong to the old user.
func (h *host) divided() (err error) {
	const unitFile = "/lib/systemd/system/srdtun@.service"
	if _, err := output("dpkg", "-i", shared("srdtun-1.deb")); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(unitFile, oneUser, 0o644), configure()); err != nil {
		return err
	}
	for _, c := range []string{
		"useradd --system --no-user-group --gid srdtun --no-create-home --home-dir / srdtun", "systemctl daemon-reload",
		"rm -rf /run/srdtun; install -d -o srdtun -g srdtun /run/srdtun",
		"systemctl start srdtun@lab", "ip netns exec far env SRDTUN_RUN_DIR=/run/far srdtun up -d far",
	} {
		if _, err := output("sh", "-c", c); err != nil {
			return err
		}
	}
	defer func() {
		_, e := output("sh", "-c", "ip netns exec far env SRDTUN_RUN_DIR=/run/far srdtun down far; rm -rf /run/far")
		err = errors.Join(err, e)
	}()
	if err := full("full"); err != nil {
		return err
	}
	if _, err := output("systemctl", "start", "srdtun@full"); err != nil {
		return err
	}
	if err := traps(); err != nil {
		return err
	}
	rules, err := output("ip", "rule")
	if err != nil || !strings.Contains(rules, "lookup "+fullTable) {
		return fmt.Errorf("no rule: %s, %v", rules, err)
	}
	if owner, err := output("stat", "-c", "%U", "/run/srdtun/lab.sock", "/run/srdtun/full.state"); err != nil || owner != "srdtun\nsrdtun" {
		return fmt.Errorf("owners %q, %v", owner, err)
	}
	streams, err := load()
	if err != nil {
		return err
	}
	defer func() {
		for _, s := range streams {
			s.from.Close()
			s.to.Close()
		}
	}()
	h.streams = streams
	if err := h.flows(); err != nil {
		return err
	}
	before := index()
	d, err := sendDatagrams()
	if err != nil {
		return err
	}
	for _, s := range h.streams {
		s.stall()
	}
	if _, err := output("dpkg", "-i", shared("srdtun-2.deb")); err != nil {
		return err
	}
	if err := h.flows(); err != nil {
		return err
	}
	worst := max(h.streams[0].stall(), h.streams[1].stall())
	sent, lost := d.lost()
	h.streams = nil
	h.note = fmt.Sprintf(": %d of %d datagrams lost, a stall of %d ms", lost, sent, worst.Milliseconds())
	if now := index(); now != before || before == "" || lost > 0 {
		return fmt.Errorf("device %s was %s", now, before)
	}
	return errors.Join(moved(rules), untouched(), clean(rules))
}

// The constants are paths that the upgrade reads and writes. The old user or a service's user may
// have planted files at the upgrade's paths.
const (
	trapDir    = "/var/lib/private/srdtun/trap" // of a service; root must not write there for the service's user
	trapVictim = "/root/victim"                 // file of root, which must not change
	trapLinked = "/root/secret"                 // file of root, which the old user must not get copied
	trapMost   = 64 << 20
)

// traps starts a third service. traps also plants links for the service's user and for the old
// user.
func traps() error {
	key, public, err := newKeys()
	if err != nil {
		return err
	}
	if err := write("trap", key, "10.66.0.1/24", public, "10.66.0.2/32", ""); err != nil {
		return err
	}
	for _, c := range []string{
		"sed -i 's/^address/listen_port = 51866\\naddress/' /etc/srdtun/trap.toml", "systemctl start srdtun@trap",
		"mkdir -p -m 0700 /var/lib/private", "mkdir -p " + trapDir, "echo kept >" + trapVictim, "chmod 600 " + trapVictim,
		"ln -s " + trapVictim + " " + trapDir + "/trap.state", "mkfifo " + trapDir + "/trap.peers", "chown -hR 64999 " + trapDir,
		"echo stolen >" + trapLinked, "chmod 600 " + trapLinked,
		"rm -f /run/srdtun/lab.state; ln -s " + trapLinked + " /run/srdtun/lab.state; chown -h srdtun /run/srdtun/lab.state",
		"rm -f /run/srdtun/full.peers; truncate -s 1T /run/srdtun/full.peers; chown srdtun /run/srdtun/full.peers",
	} {
		if _, err := output("sh", "-c", c); err != nil {
			return err
		}
	}
	return nil
}

// untouched checks that root followed none of the planted links.
func untouched() error {
	if out, err := output("sh", "-c", "stat -c '%U %a' "+trapVictim+"; cat "+trapVictim); err != nil || out != "root 600\nkept" {
		return fmt.Errorf("root wrote for a service's user: %s, %v", out, err)
	}
	if out, err := output("grep", "-r", "stolen", "/var/lib/private", runDir); err == nil {
		return fmt.Errorf("the old user got what only root may read: %s", out)
	}
	used, err := output("du", "-s", "--apparent-size", "-B1", "/var/lib/private")
	if err != nil {
		return err
	}
	if n, _, _ := strings.Cut(used, "\t"); len(n) > len(strconv.Itoa(trapMost)) {
		return fmt.Errorf("%s: a file without end was copied", used)
	}
	_, err = output("systemctl", "stop", "srdtun@trap")
	return errors.Join(err, os.Remove(trapVictim), os.Remove(trapLinked))
}

// moved checks the owners of all files after the upgrade.
func moved(rules string) error {
	if now, _ := output("ip", "rule"); now != rules {
		return fmt.Errorf("rules %s were %s", now, rules)
	}
	for _, service := range []string{"lab", "full"} {
		if uid, err := userOf(service); err != nil || uid == 0 {
			return fmt.Errorf("%s: user %d, %v", service, uid, err)
		}
	}
	if owner, err := output("stat", "-c", "%U", runDir); err != nil || owner != "root" {
		return fmt.Errorf("%s is %s's, %v", runDir, owner, err)
	}
	if left, err := output("find", runDir, "-user", "srdtun"); err != nil || left != "" {
		return fmt.Errorf("of the old user: %s, %v", left, err)
	}
	return nil
}

// clean stops the services, and purges the package.
func clean(rules string) error {
	if _, err := output("systemctl", "stop", "srdtun@full", "srdtun@lab"); err != nil {
		return err
	}
	if now, _ := output("ip", "rule"); now == rules {
		return errors.New("rules are left: the new service did not know of them")
	}
	_, err := output("dpkg", "--purge", "srdtun")
	if err != nil {
		return err
	}
	if out, err := output("getent", "passwd", "srdtun"); err == nil {
		return fmt.Errorf("the old user is left: %s", out)
	}
	return nil
}
