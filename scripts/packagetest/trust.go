package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// The checks in this file show how far a compromised service can harm another service, or root.
// The attacker's program runs as the service's user, outside the service's sandbox and without
// any capability.

const (
	runDir    = "/run/srdtun"
	configDir = "/etc/srdtun"
)

// agent is a user ID that belongs to no service, and replaces the agents' user.
const agent = 64999

// setTrust starts a second service, and writes a third configuration file for an interface that
// does not run.
func setTrust() (keys []string, err error) {
	for i, name := range []string{"other", "third"} {
		private, public, err := newKeys()
		if err != nil {
			return nil, err
		}
		address := fmt.Sprintf("10.%d.0.1/24", 70+i)
		if err := write(name, private, address, public, fmt.Sprintf("10.%d.0.2/32", 70+i), ""); err != nil {
			return nil, err
		}
		if _, err := output("sed", "-i", fmt.Sprintf("s/^address/listen_port = %d\\naddress/", 51840+i), filepath.Join(configDir, name+".toml")); err != nil {
			return nil, err
		}
		keys = append(keys, private)
	}
	_, err = output("systemctl", "start", "srdtun@other")
	return keys, err
}

// userOf returns the user of a service.
func userOf(service string) (int, error) {
	st, err := os.Lstat(filepath.Join(runDir, service))
	if err != nil {
		return 0, err
	}
	return int(st.Sys().(*syscall.Stat_t).Uid), nil
}

// asUser returns a command that runs as a user without groups and capabilities.
func asUser(uid int, args ...string) *exec.Cmd {
	id := strconv.Itoa(uid)
	return exec.Command("setpriv", append([]string{"--reuid=" + id, "--regid=" + id, "--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all"}, args...)...)
}

// The check apart tests that each service has its own user. Root must own the directory that
// contains the services' directories.
func (h *host) apart() error {
	keys, err := setTrust()
	if err != nil {
		return err
	}
	key, err := keyOf("lab")
	if err != nil {
		return err
	}
	h.keys = append(keys, key)
	if st, err := os.Lstat(runDir); err != nil || st.Sys().(*syscall.Stat_t).Uid != 0 || st.Mode().Perm() != 0o755 {
		return fmt.Errorf("%s: %v, %v", runDir, st.Mode(), err)
	}
	lab, err := userOf("lab")
	if err != nil {
		return err
	}
	other, err := userOf("other")
	if err != nil {
		return err
	}
	if lab == other || lab == 0 || other == 0 {
		return fmt.Errorf("users %d and %d", lab, other)
	}
	pid, err := output("systemctl", "show", "-P", "MainPID", unitOf("lab"))
	if err != nil {
		return err
	}
	peers := filepath.Join(runDir, "peers.toml")
	masters := []string{"showconf lab", "addconf lab " + peers, "set lab peer.x.preshared_key=" + key, "reload lab", "down lab"}
	for _, uid := range []int{lab, other, agent, 65534} {
		refused := masters
		if uid != lab { // the daemon's own user has the permissions of its group
			refused = append([]string{"show lab", "set lab paths.policy=ecmp"}, masters...)
		}
		for _, c := range refused {
			out, err := asUser(uid, append([]string{"srdtun"}, strings.Fields(c)...)...).CombinedOutput()
			if err == nil || strings.Contains(string(out), key) && !strings.Contains(c, key) {
				return fmt.Errorf("user %d: srdtun %s: %s", uid, c, out)
			}
		}
		if uid == lab {
			continue // this user may read the credential, and no other service runs as this user
		}
		for _, f := range []string{"/proc/" + pid + "/mem", "/proc/" + pid + "/environ", "/proc/" + pid + "/fd/0", "/var/lib/private/srdtun/lab", "/run/credentials/srdtun@lab.service/lab.toml"} {
			if out, err := asUser(uid, "ls", f).CombinedOutput(); strings.HasSuffix(f, "mem") || strings.HasSuffix(f, "environ") {
				if out, err := asUser(uid, "sh", "-c", "exec <"+f).CombinedOutput(); err == nil {
					return fmt.Errorf("user %d opens %s: %s", uid, f, out)
				}
			} else if err == nil {
				return fmt.Errorf("user %d sees %s: %s", uid, f, out)
			}
		}
	}
	if now, _ := output("systemctl", "show", "-P", "MainPID", unitOf("lab")); now != pid {
		return fmt.Errorf("process %s was %s", now, pid)
	}
	return h.flows()
}

func unitOf(name string) string { return "srdtun@" + name + ".service" }

// keyOf returns the private key in a configuration file.
func keyOf(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(configDir, name+".toml"))
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(string(text), "private_key = \"")
	key, _, ok := strings.Cut(rest, "\"")
	if !ok {
		return "", errors.New("no key in " + name)
	}
	return key, nil
}

// The check planted makes a service's user put sockets where root looks for other daemons. Root's
// commands must send no secret to planted sockets.
func (h *host) planted() error {
	other, err := userOf("other")
	if err != nil {
		return err
	}
	self := "/tmp/packagetest"
	if err := copyFile(shared("packagetest"), self, 0o755); err != nil {
		return err
	}
	defer os.Remove(self)
	// The names are reserved for root, or belong to another service.
	for _, path := range []string{runDir + "/lab.sock", runDir + "/third.sock", runDir + "/lab/lab.sock", runDir + "/lab/third.sock"} {
		if out, err := asUser(other, self, plantArg, path, "/dev/null").CombinedOutput(); err == nil || !strings.Contains(string(out), "permission denied") && !strings.Contains(string(out), "already in use") {
			return fmt.Errorf("planted %s: %v %s", path, err, out)
		}
	}
	if out, err := asUser(other, "mkdir", runDir+"/third").CombinedOutput(); err == nil {
		return fmt.Errorf("mkdir: %s", out)
	}
	files := map[string]string{"/root/whole.toml": h.keys[1], "/root/peers.toml": ""}
	public, err := newPeerKey()
	if err != nil {
		return err
	}
	peers := fmt.Sprintf("[[peer]]\npublic_key = %q\npreshared_key = %q\nallowed_ips = \"10.71.0.9/32\"\n", public, h.keys[1])
	whole := fmt.Sprintf("[interface]\nprivate_key = %q\n%s", h.keys[1], peers)
	for f := range files {
		text := peers
		if strings.Contains(f, "whole") {
			text = whole
		}
		if err := os.WriteFile(f, []byte(text), 0o600); err != nil {
			return err
		}
		defer os.Remove(f)
	}
	for _, p := range []struct{ at, name string }{
		{runDir + "/other/third.sock", "third"}, // socket of an interface that does not run
		{runDir + "/other/lab.sock", "lab"},     // socket of a running interface
		{runDir + "/other/other.sock", "other"}, // the service's own socket, but not opened by its main process
	} {
		if err := h.tempt(self, other, p.at, p.name); err != nil {
			return fmt.Errorf("%s: %w", p.at, err)
		}
	}
	_, err = output("systemctl", "stop", "srdtun@other")
	return errors.Join(err, os.Remove(configDir+"/other.toml"), os.Remove(configDir+"/third.toml"), h.flows())
}

// tempt plants a socket as a user, and as root runs all commands that send a secret or an order.
// Afterwards, tempt reads the requests that the socket received.
func (h *host) tempt(self string, uid int, at, name string) error {
	told := "/tmp/told"
	if err := os.WriteFile(told, nil, 0o666); err != nil {
		return err
	}
	defer os.Remove(told)
	if err := os.Chmod(told, 0o666); err != nil {
		return err
	}
	plant := asUser(uid, self, plantArg, at, told)
	if err := plant.Start(); err != nil {
		return err
	}
	defer func() {
		_ = plant.Process.Kill()
		_ = plant.Wait()
		_ = os.Remove(at)
	}()
	if err := until("it is planted", func() bool { b, _ := os.ReadFile(told); return len(b) > 0 }); err != nil {
		return err
	}
	file := configDir + "/" + name + ".toml"
	for _, c := range []string{
		"reload " + name, "reload " + file, "syncconf " + name + " /root/whole.toml", "addconf " + name + " /root/peers.toml", "show " + name, "showconf " + name,
		"set " + name + " peer.x.preshared_key=" + h.keys[1], "set " + name + " --save interface.private_key=" + h.keys[1], "set " + name + " paths.policy=ecmp", "events " + name, "bugreport " + name, "down " + name,
	} {
		if name == "lab" && !strings.HasPrefix(c, "reload") && !strings.HasPrefix(c, "show") {
			continue // the real daemon lab would answer and obey
		}
		out, _ := exec.Command("srdtun", strings.Fields(c)...).CombinedOutput()
		if strings.ContainsAny(string(out), "\x1b\x07") {
			return fmt.Errorf("srdtun %s prints %q", c, out)
		}
	}
	got, err := os.ReadFile(told)
	if err != nil {
		return err
	}
	if strings.Contains(string(got), "DESCRIPTOR") {
		return fmt.Errorf("it was given a descriptor: %s", got)
	}
	for _, op := range []string{"change", "config", "down", "restarting"} {
		if strings.Contains(string(got), `"op":"`+op+`"`) {
			return fmt.Errorf("it was given an order: %s", got)
		}
	}
	for _, k := range h.keys {
		if strings.Contains(string(got), k) {
			return fmt.Errorf("it was told a key: %s", got)
		}
	}
	return nil
}

// oddName starts a service whose name contains a dot, such as that of a VLAN interface. A user's
// name cannot contain a dot.
func (h *host) oddName() error {
	if err := full("eth0-a.5"); err != nil {
		return err
	}
	file := filepath.Join(configDir, "eth0-a.5.toml")
	defer os.Remove(file)
	if _, err := output("sed", "-i", "s|0.0.0.0/0|10.8.0.0/24|", file); err != nil {
		return err
	}
	if out, err := output("srdtun", "check", "eth0-a.5"); err != nil || !strings.Contains(out, "is not a name of a user") {
		return fmt.Errorf("check: %s, %v", out, err)
	}
	for _, c := range []string{"systemctl enable --now srdtun@eth0-a.5", "srdtun show eth0-a.5", "systemctl reload srdtun@eth0-a.5"} {
		if _, err := output("sh", "-c", c); err != nil {
			return err
		}
	}
	if out, err := output("srdtun", "check", "eth0-a.5"); err != nil || strings.Contains(out, "warning") {
		return fmt.Errorf("check: %s, %v", out, err)
	}
	uid, err := userOf("eth0-a.5")
	if err != nil {
		return err
	}
	if lab, err := userOf("lab"); err != nil || uid == lab || uid == 0 {
		return fmt.Errorf("users %d and %d, %v", uid, lab, err)
	}
	_, err = output("systemctl", "disable", "--now", "srdtun@eth0-a.5")
	return err
}
