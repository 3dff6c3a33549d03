package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	agentUnit = "srdtun-etcd@lab.service"
	agentUser = "_srdtun-fleet-lab"
	fleetDir  = "/var/lib/srdtun-fleet/lab"
)

func (h *host) agentsInstall() error {
	h.beforeAgents = files()
	for _, name := range agents {
		if _, err := output("dpkg", "-i", shared(name+".deb")); err != nil {
			return err
		}
		for _, f := range []string{
			"/usr/bin/" + name, "/lib/systemd/system/" + name + "@.service", "/usr/share/man/man1/" + name + ".1",
			"/usr/share/doc/" + name + "/sbom.cdx.json", "/usr/share/doc/" + name + "/copyright",
		} {
			if i, err := os.Stat(f); err != nil || i.Size() == 0 {
				return fmt.Errorf("%s: %v", f, err)
			}
		}
		if out, err := output(name, "--version"); err != nil || out != name+" 0.9.0" {
			return fmt.Errorf("version: %s, %v", out, err)
		}
		if out, err := output("systemd-analyze", "verify", "/lib/systemd/system/"+name+"@.service"); err != nil || out != "" {
			return fmt.Errorf("systemd-analyze verify: %s, %v", out, err)
		}
	}
	return nil
}

// agentRuns starts the agent while no etcd runs. The agent must wait until an etcd runs.
func (h *host) agentRuns() error {
	key, err := newPeerKey()
	if err != nil {
		return err
	}
	if err := errors.Join(
		os.WriteFile("/etc/srdtun-fleet/allow", []byte("here "+key+" 10.7.0.1/32\n"), 0o644),
		os.WriteFile("/etc/srdtun-fleet/lab.env", []byte("OPTIONS=--endpoints http://127.0.0.1:1 --allow /etc/srdtun-fleet/allow\nMEMBER=here\n"), 0o644),
	); err != nil {
		return err
	}
	if _, err := output("systemctl", "start", agentUnit); err != nil {
		return err
	}
	if err := until("the agent says that etcd is away", func() bool {
		log, _ := output("journalctl", "--no-pager", "-b", "-u", agentUnit)
		return strings.Contains(log, "etcd cannot be reached")
	}); err != nil {
		log, _ := output("journalctl", "--no-pager", "-b", "-u", agentUnit)
		return fmt.Errorf("%w: %s", err, log)
	}
	pid, err := output("systemctl", "show", "-P", "MainPID", agentUnit)
	if err != nil {
		return err
	}
	uid, err := output("id", "-u", agentUser)
	if err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return err
	}
	fields := strings.Join(strings.Fields(string(status)), " ")
	for _, want := range []string{"Uid: " + uid + " " + uid, "CapPrm: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2 "} {
		if !strings.Contains(fields, want) {
			return fmt.Errorf("%q is not in /proc/%s/status: %s", want, pid, fields)
		}
	}
	if left, _ := filepath.Glob("/proc/" + pid + "/root/run/srdtun/*"); len(left) > 0 {
		return fmt.Errorf("the agent sees %q", left)
	}
	for property, want := range map[string]string{
		"MemoryMax": "134217728", "RemoveIPC": "yes", "LimitCORE": "0", "RestrictAddressFamilies": "AF_INET AF_INET6", "InaccessiblePaths": runDir,
	} {
		got, err := output("systemctl", "show", "-P", property, agentUnit)
		words := strings.Fields(got)
		slices.Sort(words)
		if err != nil || strings.Join(words, " ") != want {
			return fmt.Errorf("%s of %s is %q, want %q: %v", property, agentUnit, got, want, err)
		}
	}
	if err := agentsApart(); err != nil {
		return err
	}
	if out, err := output("stat", "-c", "%U %a", fleetDir); err != nil || out != agentUser+" 755" {
		return fmt.Errorf("%s: %s, %v", fleetDir, out, err)
	}
	if out, err := output("stat", "-c", "%U %a", filepath.Dir(fleetDir)); err != nil || out != "root 755" {
		return fmt.Errorf("%s: %s, %v", filepath.Dir(fleetDir), out, err)
	}
	return nil
}

// agentsApart starts the agent of another fleet while no control socket exists, as at boot.
func agentsApart() (err error) {
	const other, away = "srdtun-etcd@other.service", "/run/srdtun.away"
	text, err := os.ReadFile("/etc/srdtun-fleet/lab.env")
	if err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile("/etc/srdtun-fleet/other.env", text, 0o644), os.Rename(runDir, away)); err != nil {
		return err
	}
	defer func() {
		_, stopped := output("systemctl", "stop", other)
		err = errors.Join(err, stopped, os.RemoveAll(runDir), os.Rename(away, runDir), os.Remove("/etc/srdtun-fleet/other.env"))
	}()
	if _, err := output("systemctl", "start", other); err != nil {
		return err
	}
	pid, err := output("systemctl", "show", "-P", "MainPID", other)
	if err != nil {
		return err
	}
	if out, err := output("stat", "-c", "%U %a", runDir); err != nil || out != "root 755" {
		return fmt.Errorf("%s: %s, %v", runDir, out, err)
	}
	if err := os.WriteFile(filepath.Join(runDir, "late"), nil, 0o644); err != nil {
		return err
	}
	if left, _ := filepath.Glob("/proc/" + pid + "/root/run/srdtun/*"); len(left) > 0 {
		return fmt.Errorf("the agent of the boot sees %q", left)
	}
	user, err := output("id", "-u", "_srdtun-fleet-other")
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(user)
	if err != nil {
		return err
	}
	for _, c := range []string{"touch " + fleetDir + "/x.toml", "rm -f " + fleetDir + "/fleet-a.toml", "ls /proc/" + mainOf(agentUnit) + "/root"} {
		if c[0] == 'r' {
			if err := os.WriteFile(fleetDir+"/fleet-a.toml", nil, 0o644); err != nil {
				return err
			}
		}
		if out, err := asUser(uid, strings.Fields(c)...).CombinedOutput(); err == nil {
			return fmt.Errorf("another fleet's agent: %s: %s", c, out)
		}
	}
	if err := os.Remove(fleetDir + "/fleet-a.toml"); err != nil {
		return err
	}
	return oddAgent()
}

func mainOf(unit string) string {
	pid, _ := output("systemctl", "show", "-P", "MainPID", unit)
	return pid
}

// oddAgent tests an agent whose name cannot be part of a user name. The user of an agent with an
// odd name has another name.
func oddAgent() error {
	const file = configDir + "/a.b.toml"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		return err
	}
	if _, err := output("systemctl", "daemon-reload"); err != nil {
		return err
	}
	user, err := output("systemctl", "show", "-P", "User", "srdtun-etcd@a.b")
	if err != nil || !strings.HasPrefix(user, "_srdtun-fleet-") || strings.Contains(user, ".") {
		return fmt.Errorf("user %q, %v", user, err)
	}
	if _, err := output("systemctl", "start", "srdtun-fleet-user@a.b"); err != nil {
		return err
	}
	_, err = output("id", user)
	return errors.Join(err, os.Remove(file))
}

// agentAdds writes a drop-in file as the agent's user, as the agent does.
func (h *host) agentAdds() error {
	private, key, err := newKeys()
	if err != nil {
		return err
	}
	config := func(owner string) error {
		text := fmt.Sprintf("[interface]\nprivate_key = %q\naddress = \"10.7.0.1/24\"\nlisten_port = 51822\n[peers]\ndir = %q\n%s", private, fleetDir, owner)
		return os.WriteFile("/etc/srdtun/fleet.toml", []byte(text), 0o600)
	}
	peer := fmt.Sprintf("[[peer]]\nname = \"member\"\npublic_key = %q\nallowed_ips = \"10.7.0.2/32\"\n", key)
	file := filepath.Join(fleetDir, "other.toml")
	if err := os.WriteFile(file, []byte(peer), 0o644); err != nil {
		return err
	}
	if _, err := output("chown", agentUser+":", file); err != nil {
		return err
	}
	// The interface has the same name as the agent's user. Nevertheless, the daemon must run as
	// another user.
	const unit = "srdtun@fleet.service"
	if err := config(""); err != nil {
		return err
	}
	if out, err := output("srdtun", "check", "fleet"); err == nil || !strings.Contains(out, "want root, or the user that [peers] owner names") {
		return fmt.Errorf("check without owner: %s, %v", out, err)
	}
	if err := config("owner = \"" + agentUser + "\"\n"); err != nil {
		return err
	}
	if out, err := output("srdtun", "check", "fleet"); err != nil || !strings.Contains(out, "1 peer") {
		return fmt.Errorf("check: %s, %v", out, err)
	}
	if _, err := output("systemctl", "start", unit); err != nil {
		return err
	}
	if out, err := output("srdtun", "show", "fleet"); err != nil || !strings.Contains(out, "member") {
		return fmt.Errorf("show: %s, %v", out, err)
	}
	pid, _ := output("systemctl", "show", "-P", "MainPID", unit)
	uid, _ := output("id", "-u", agentUser)
	if status, _ := os.ReadFile("/proc/" + pid + "/status"); strings.Contains(strings.Join(strings.Fields(string(status)), " "), "Uid: "+uid+" ") {
		return errors.New("the daemon is the agent's user")
	}
	_, err = output("systemctl", "stop", unit)
	_, cleanErr := output("systemctl", "clean", "--what=state", unit)
	return errors.Join(err, cleanErr, os.Remove("/etc/srdtun/fleet.toml"))
}

func (h *host) agentsGo() error {
	uid, err := output("id", "-u", agentUser)
	if err != nil {
		return err
	}
	// The removal of the first package must keep files that the second package needs.
	if _, err := output("dpkg", "--purge", agents[1]); err != nil {
		return err
	}
	if !active(agentUnit) {
		return errors.New("the other agent was stopped")
	}
	if _, err := output("dpkg", "--purge", agents[0]); err != nil {
		return err
	}
	if active(agentUnit) {
		return errors.New("it still runs")
	}
	if out, _ := output("find", "/var", "/etc", "/run", "-xdev", "-uid", uid); out != "" {
		return fmt.Errorf("left to the next user of that number: %s", out)
	}
	return sameFiles(h.beforeAgents)
}

func (h *host) agentRPMs() error {
	// The option --nodeps is needed because Debian's rpm has no record of Debian's packages.
	for _, name := range agents {
		if _, err := output("rpm", "-i", "--nodeps", shared(name+".rpm")); err != nil {
			return err
		}
		if out, err := output("rpm", "-V", "--nodeps", name); err != nil {
			return fmt.Errorf("rpm -V: %s: %w", out, err)
		}
		if _, err := output("rpm", "-e", "--nodeps", name); err != nil {
			return err
		}
		if _, err := os.Stat("/usr/bin/" + name); err == nil {
			return errors.New("the program is left")
		}
	}
	return nil
}
