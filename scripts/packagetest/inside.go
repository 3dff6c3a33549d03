package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// insideArg is the argument that makes the program run a group of checks: inside PLACE NAME,..
const insideArg = "inside"

// insideArgs returns the arguments for running a group of checks.
func insideArgs(g group) []string {
	names := make([]string, len(g.checks))
	for i, c := range g.checks {
		names[i] = c.name
	}
	return []string{insideArg, g.kind, strings.Join(names, ",")}
}

// inside runs checks in the copy of the root, and prints their report.
func inside(kind string, names []string) (code int) {
	h := &host{}
	g := group{kind: kind}
	for _, all := range groups {
		for _, c := range all.checks {
			if all.kind == kind && slices.Contains(names, c.name) {
				g.checks = append(g.checks, c)
			}
		}
	}
	failed := runChecks(g, func(c check) (string, error) {
		h.note = ""
		err := c.host(h)
		return h.note, err
	})
	if failed > 0 {
		log, _ := output("journalctl", "--no-pager", "-b", "-u", "srdtun@*", "-o", "short-precise")
		fmt.Fprintln(os.Stderr, log)
		return 1
	}
	return 0
}

// host is the copy of the Debian root, for checks that run inside.
type host struct {
	note   string   // text to print with the result of the check
	before []string // files that existed before the installation
	// The field beforeAgents lists the files that existed before the agents' packages were
	// installed.
	beforeAgents []string
	streams      []*stream
	index        string   // number of the network device
	keys         []string // private keys, which no output may contain
}

const lab = "srdtun@lab.service"

// files lists all files that an installation could leave behind. The list omits backups of the
// user database and caches, because they change by themselves.
func files() (v []string) {
	for _, top := range []string{"/etc", "/usr", "/lib/systemd", "/run/srdtun", "/var/lib/srdtun", "/var/lib/private", "/var/lib/dpkg/info"} {
		filepath.WalkDir(top, func(path string, _ os.DirEntry, err error) error {
			if err == nil && !strings.HasSuffix(path, "-") && !strings.HasSuffix(path, ".cache") && !strings.HasPrefix(path, "/usr/lib/sysimage") {
				v = append(v, path)
			}
			return nil
		})
	}
	users, _ := os.ReadFile("/etc/passwd")
	groups, _ := os.ReadFile("/etc/group")
	return append(v, strings.Split(string(users)+string(groups), "\n")...)
}

func (h *host) installs() error {
	h.before = files()
	if err := h.installed(); err != nil {
		return err
	}
	if out, err := output("systemd-analyze", "verify", "/lib/systemd/system/srdtun@.service"); err != nil || out != "" {
		return fmt.Errorf("systemd-analyze verify: %s, %v", out, err)
	}
	return nil
}

// installed installs the deb package, and examines its files.
func (h *host) installed() error {
	if _, err := output("dpkg", "-i", shared("srdtun-1.deb")); err != nil {
		return err
	}
	for _, f := range []string{
		"/usr/bin/srdtun", "/lib/systemd/system/srdtun@.service", "/usr/share/man/man1/srdtun-up.1", "/usr/share/man/man5/srdtun.toml.5",
		"/usr/share/bash-completion/completions/srdtun", "/usr/share/zsh/vendor-completions/_srdtun",
		"/usr/share/fish/vendor_completions.d/srdtun.fish", "/usr/share/doc/srdtun/sbom.cdx.json", "/usr/share/doc/srdtun/copyright",
	} {
		if i, err := os.Stat(f); err != nil || i.Size() == 0 {
			return fmt.Errorf("%s: %v", f, err)
		}
	}
	if i, err := os.Stat("/etc/srdtun"); err != nil || i.Mode().Perm() != 0o700 {
		return fmt.Errorf("/etc/srdtun: %v, %v", i.Mode(), err)
	}
	if out, err := output("srdtun", "version"); err != nil || !strings.HasPrefix(out, "srdtun 0.9.0 ") {
		return fmt.Errorf("version: %s, %v", out, err)
	}
	_, err := output("getent", "group", "srdtun")
	return err
}

// failsOnce starts a service that must fail immediately with a reason, without restarts.
func failsOnce(name, why string) error {
	service := "srdtun@" + name + ".service"
	if out, err := output("systemctl", "start", service); err == nil {
		return fmt.Errorf("it started: %s", out)
	}
	state, err := output("systemctl", "show", "-p", "ActiveState,SubState,NRestarts", service)
	if err != nil {
		return err
	}
	for _, want := range []string{"ActiveState=failed", "SubState=failed", "NRestarts=0"} {
		if !strings.Contains(state, want) {
			return fmt.Errorf("%s, want %s", state, want)
		}
	}
	if status, _ := output("systemctl", "status", "--no-pager", "--full", service); !strings.Contains(status, why) {
		return fmt.Errorf("%q is not in: %s", why, status)
	}
	return nil
}

func (h *host) misspelt() error {
	return failsOnce("typo", "/etc/srdtun/typo.toml: file does not exist")
}

func (h *host) wrong() error {
	if err := os.WriteFile("/etc/srdtun/wrong.toml", []byte("[interface]\nadress = \"10.0.0.1/24\"\n"), 0o600); err != nil {
		return err
	}
	return failsOnce("wrong", "/etc/srdtun/wrong.toml:2: interface.adress")
}

// configure writes the configurations of two hosts that are each other's peer. Only the other
// host has an endpoint for its peer.
func configure() error {
	keys := map[string]string{}
	for _, n := range []string{"lab", "far"} {
		private, err := output("srdtun", "genkey")
		if err != nil {
			return err
		}
		public, err := output("sh", "-c", "echo '"+private+"' | srdtun pubkey")
		if err != nil {
			return err
		}
		keys[n], keys[n+".pub"] = private, public
	}
	return errors.Join(
		write("lab", keys["lab"], "10.9.0.1/24", keys["far.pub"], "10.9.0.2/32", ""),
		write("far", keys["far"], "10.9.0.2/24", keys["lab.pub"], "10.9.0.1/32", `endpoints = ["192.0.2.1:51820"]`))
}

// newKeys returns a new private key, and the public key of a peer that does not exist.
func newKeys() (private, peer string, err error) {
	private, err = output("srdtun", "genkey")
	if err == nil {
		peer, err = newPeerKey()
	}
	return private, peer, err
}

func newPeerKey() (string, error) { return output("sh", "-c", "srdtun genkey | srdtun pubkey") }

func write(name, private, address, peer, allowed, more string) error {
	text := fmt.Sprintf("[interface]\nprivate_key = %q\naddress = %q\n[[peer]]\npublic_key = %q\nallowed_ips = %q\n%s\n",
		private, address, peer, allowed, more)
	return os.WriteFile("/etc/srdtun/"+name+".toml", []byte(text), 0o600)
}

func (h *host) starts() error {
	if err := configure(); err != nil {
		return err
	}
	for _, c := range []string{
		"ip netns add far", "ip link add v0 type veth peer name v1 netns far", "ip addr add 192.0.2.1/24 dev v0", "ip link set v0 up",
		"ip -n far addr add 192.0.2.2/24 dev v1", "ip -n far link set v1 up", "ip -n far link set lo up",
		"ip netns exec far srdtun up -d far", "systemctl start srdtun@lab",
	} {
		if _, err := output("sh", "-c", c); err != nil {
			return err
		}
	}
	pid, err := output("systemctl", "show", "-P", "MainPID", lab)
	if err != nil {
		return err
	}
	status, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return err
	}
	fields := strings.Join(strings.Fields(string(status)), " ")
	const netAdmin = "0000000000001000" // 1 << CAP_NET_ADMIN
	for _, want := range []string{"CapPrm: " + netAdmin, "CapEff: " + netAdmin, "CapAmb: 0000000000000000", "NoNewPrivs: 1", "Seccomp: 2 "} {
		if !strings.Contains(fields, want) {
			return fmt.Errorf("%q is not in /proc/%s/status: %s", want, pid, fields)
		}
	}
	if strings.Contains(fields, "Uid: 0") {
		return errors.New("it runs as root")
	}
	h.index = index()
	h.streams, err = load()
	return errors.Join(err, h.flows())
}

// index returns the number of the network device, or "" if it does not exist.
func index() string {
	b, _ := os.ReadFile("/sys/class/net/lab/ifindex")
	return strings.TrimSpace(string(b))
}

func (h *host) flows() error {
	for _, s := range h.streams {
		if err := s.flows(); err != nil {
			return err
		}
	}
	return nil
}

func (h *host) group() error {
	as := func(groups string) (string, error) {
		return output("setpriv", "--reuid=65534", "--regid=65534", groups, "srdtun", "show", "lab")
	}
	if out, err := as("--groups=" + groupID()); err != nil || !strings.Contains(out, "interface: lab") {
		return fmt.Errorf("a member: %s, %v", out, err)
	}
	if out, err := as("--clear-groups"); err == nil || !strings.Contains(out, "join the group srdtun") {
		return fmt.Errorf("a stranger: %s, %v", out, err)
	}
	return nil
}

func groupID() string {
	out, _ := output("sh", "-c", "getent group srdtun | cut -d: -f3")
	return out
}

const (
	rounds = 5
	// stallGoal bounds how long a restart of the service may stall a connection. Only the best of
	// several rounds must meet the goal, because the host may be busy in other rounds.
	stallGoal = 200 * time.Millisecond
	// A constantly busy host cannot start a service within stallGoal. On a constantly busy host, a
	// stall may last stallStarts times as long as the start of a service that ends immediately.
	stallStarts = 3
)

func (h *host) restarts() error {
	worst, starts := make([]time.Duration, rounds), make([]time.Duration, rounds)
	fast := false
	for i := range worst {
		begun := time.Now()
		_, _ = output("systemctl", "start", "srdtun@typo") // the start passes the same filters, and fails
		starts[i] = time.Since(begun)
		for _, s := range h.streams {
			s.stall()
		}
		if _, err := output("systemctl", "restart", lab); err != nil {
			return err
		}
		if err := h.flows(); err != nil {
			return err
		}
		for _, s := range h.streams {
			worst[i] = max(worst[i], s.stall())
		}
		if now := index(); now != h.index {
			return fmt.Errorf("device %s was %s", now, h.index)
		}
		fast = fast || worst[i] <= max(stallGoal, stallStarts*starts[i])
	}
	h.note = fmt.Sprintf(": %v; the start of a service that fails: %v", brief(worst), brief(starts))
	if !fast {
		return errors.New("longer")
	}
	return nil
}

// brief prints the smallest, the middle and the largest value.
func brief(v []time.Duration) string {
	v = slices.Sorted(slices.Values(v))
	ms := func(i int) int64 { return v[i].Milliseconds() }
	return fmt.Sprintf("%d .. %d .. %d ms", ms(0), ms(len(v)/2), ms(len(v)-1))
}
