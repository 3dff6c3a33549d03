package e2e

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// etcdPassword is the password of etcd's user root.
const etcdPassword = "correct horse"

// etcd is a single server of Debian's etcd on a host of the fabric.
type etcd struct {
	t    *testing.T
	host *fabric.Host
	dir  string
	url  string
	run  *fabric.Process
}

// startEtcd starts an empty etcd server.
func startEtcd(t *testing.T, host *fabric.Host) *etcd {
	t.Helper()
	e := &etcd{t: t, host: host, dir: t.TempDir(), url: "http://" + netip.AddrPortFrom(host.Addr4(), 2379).String()}
	e.start()
	t.Cleanup(func() { e.run.Kill() })
	return e
}

func (e *etcd) start() {
	e.t.Helper()
	var err error
	e.run, err = e.host.Start("etcd", "--data-dir", filepath.Join(e.dir, "data"), "--listen-client-urls", e.url, "--advertise-client-urls", e.url,
		"--listen-peer-urls", "http://127.0.0.1:2380", "--initial-advertise-peer-urls", "http://127.0.0.1:2380", "--initial-cluster", "default=http://127.0.0.1:2380")
	if err != nil {
		e.t.Fatal(err)
	}
	until(e.t, "etcd answers", 10*time.Second, func() bool {
		_, err := e.host.Run("curl", "-sf", e.url+"/health")
		return err == nil
	})
}

// ctl runs etcdctl, with the password after lock was called, and returns the output.
func (e *etcd) ctl(args ...string) string {
	e.t.Helper()
	cmd := e.host.Command("etcdctl", append([]string{"--endpoints", e.url, "--user", "root:" + etcdPassword}, args...)...)
	cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
	out, err := cmd.CombinedOutput()
	if err != nil {
		e.t.Fatalf("etcdctl %s: %v: %s", args[0], err, out)
	}
	return string(out)
}

// lock makes etcd require a password.
func (e *etcd) lock() {
	e.t.Helper()
	for _, args := range [][]string{{"user", "add", "root:" + etcdPassword}, {"user", "grant-role", "root", "root"}, {"auth", "enable"}} {
		cmd := e.host.Command("etcdctl", append([]string{"--endpoints", e.url}, args...)...)
		cmd.Env = append(os.Environ(), "ETCDCTL_API=3")
		if out, err := cmd.CombinedOutput(); err != nil {
			e.t.Fatalf("etcdctl %q: %v: %s", args, err, out)
		}
	}
}

// fleetKeys holds the operator's files: the key, the ledger, and the files for members.
type fleetKeys struct {
	t                                    *testing.T
	dir, ledger, private, public, passwd string
}

func newFleetKeys(t *testing.T) *fleetKeys {
	t.Helper()
	dir := t.TempDir()
	k := &fleetKeys{
		t: t, dir: dir, ledger: filepath.Join(dir, "ledger"), private: filepath.Join(dir, "fleet.key"),
		public: filepath.Join(dir, "fleet.pub"), passwd: filepath.Join(dir, "password"),
	}
	out, err := exec.Command(etcdAgent(t), "fleetkey", k.private).Output()
	must(t, err)
	for file, text := range map[string]string{k.public: string(out), k.passwd: etcdPassword + "\n"} {
		must(t, os.WriteFile(file, []byte(text), 0o600))
	}
	must(t, os.Mkdir(k.ledger, 0o700))
	return k
}

// sign signs a grant, enters it in a ledger, and returns the grant's file.
func (k *fleetKeys) sign(ledger, name, key, allowed string, more ...string) (string, error) {
	args := append([]string{"sign", "--key", k.private, "--fleet", "prod", "--ledger", ledger,
		"--public-key", key, "--allowed-ips", allowed, "--within", "10.0.0.0/8", name}, more...)
	out, err := exec.Command(etcdAgent(k.t), args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return filepath.Join(ledger, name+".grant"), err
}

// etcdAgent returns the path of the tested srdtun-etcd program.
func etcdAgent(t *testing.T) string {
	t.Helper()
	if file := os.Getenv("SRDTUN_ETCD_BIN"); file != "" {
		return file
	}
	dir, err := fabric.Scratch()
	must(t, err)
	file := filepath.Join(dir, "srdtun-etcd")
	if _, err := os.Stat(file); err == nil {
		return file
	}
	build := exec.Command("go", "build", "-o", file, ".")
	build.Dir, build.Env = "../fleet/cmd/srdtun-etcd", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return file
}

// member is a host with a daemon and an agent.
type member struct {
	*tunnel.Node
	name  string
	i     int // of its inner address
	dir   string
	grant string
	keys  *fleetKeys
	etcd  *etcd
	agent *fabric.Process
	told  []*fabric.Process
}

// newMember starts a daemon on host h, with the inner address of node i and no peers.
func newMember(t *testing.T, e *etcd, k *fleetKeys, h *fabric.Host, i int) *member {
	t.Helper()
	m := &member{name: fmt.Sprint("m", i), i: i, dir: filepath.Join(t.TempDir(), "peers"), keys: k, etcd: e}
	must(t, os.Mkdir(m.dir, 0o700))
	m.Node = node(t, h, fmt.Sprint("m", i), tunnel.Config{
		Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(i), 24)},
		Extra:   "\n[peers]\ndir = \"" + m.dir + "\"\n",
	})
	var err error
	if m.grant, err = k.sign(k.ledger, m.name, m.PublicKey, tunnel.Inner4(i).String()+"/32"); err != nil {
		t.Fatal(err)
	}
	must(t, m.Start())
	t.Cleanup(func() {
		if t.Failed() {
			for _, a := range m.told {
				t.Logf("agent of %s:\n%s", m.name, a.Log.String())
			}
		}
		m.kill()
	})
	return m
}

// join starts the agent.
func (m *member) join(t *testing.T) {
	t.Helper()
	var err error
	m.agent, err = m.Host.Start(etcdAgent(t), "join", "--endpoints", m.etcd.url, "--user", "root", "--password-file", m.keys.passwd,
		"--fleet", "prod", "--fleet-key", m.keys.public, "--grant", m.grant, "--dir", m.dir,
		"--address", netip.AddrPortFrom(m.Host.Addr4(), tunnel.DefaultPort).String(), m.name)
	must(t, err)
	m.told = append(m.told, m.agent)
}

// kill sends SIGKILL to the agent, if it runs.
func (m *member) kill() {
	if m.agent != nil {
		m.agent.Kill()
	}
}

// record returns the member's record in etcd.
func (m *member) record() string {
	m.etcd.t.Helper()
	var got struct {
		Kvs []struct{ Value []byte }
	}
	if err := json.Unmarshal([]byte(m.etcd.ctl("get", "/srdtun/fleet/"+m.name, "-w", "json")), &got); err != nil {
		m.etcd.t.Fatal(err)
	}
	if len(got.Kvs) == 0 {
		return ""
	}
	return string(got.Kvs[0].Value)
}

// peers returns the names of the members that have a drop-in file.
func (m *member) peers(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(m.dir, "*"))
	must(t, err)
	var v []string
	for _, f := range files {
		v = append(v, strings.TrimSuffix(strings.TrimPrefix(filepath.Base(f), "fleet-"), ".toml"))
	}
	return strings.Join(v, " ")
}

// wantPeers waits until the member has exactly the wanted peers.
func (m *member) wantPeers(t *testing.T, within time.Duration, want string) {
	t.Helper()
	until(t, fmt.Sprintf("%s has peers %q", m.name, want), within, func() bool { return m.peers(t) == want })
}

// said returns the output of all agents of the member.
func (m *member) said() string {
	var b strings.Builder
	for _, a := range m.told {
		b.WriteString(a.Log.String())
	}
	return b.String()
}

// until waits for an event that must occur within the given time, and returns the waiting time.
func until(t *testing.T, what string, within time.Duration, is func() bool) time.Duration {
	t.Helper()
	begun := time.Now()
	for !is() {
		if time.Since(begun) > within {
			t.Fatalf("after %v it is not so that %s", within, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(begun)
}
