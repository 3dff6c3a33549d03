package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// agentUser is a user who owns only a directory of drop-in files.
const agentUser = 4711

// TestDropInDirectoryOfItsOwner tests that only the user whom the configuration names can add
// peers. The user may plant files that make the daemon, or root's "check", read other files. Each
// planted file must be refused with one message.
func TestDropInDirectoryOfItsOwner(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	dir := filepath.Join(t.TempDir(), "peers")
	reachable(t, filepath.Dir(dir))
	secret := filepath.Join(t.TempDir(), "secret")
	give := func(file string) {
		t.Helper()
		must(t, os.Lchown(file, agentUser, agentUser))
	}
	must(t, os.Mkdir(dir, 0o755))
	give(dir)
	must(t, os.WriteFile(secret, []byte("hunter2\n"), 0o600))
	n := node(t, f.A(1), "own", tunnel.Config{Address: []netip.Prefix{netip.MustParsePrefix("10.77.0.1/24")}, Extra: "\n[peers]\ndir = \"" + dir + "\"\n"})
	check := func(wantCode, wantLines int) string {
		t.Helper()
		must(t, os.WriteFile(n.File, n.Config.TOML(), 0o600))
		cmd := exec.Command(bin, "check", n.File)
		out, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != wantCode || strings.Count(string(out), "\n") != wantLines {
			t.Errorf("check: exit status %d, want %d: %s", code, wantCode, out)
		}
		return string(out)
	}
	if out := check(78, 1); !strings.Contains(out, fmt.Sprintf("peers.dir: %s: belongs to user %d; want root, or the user that [peers] owner names", dir, agentUser)) {
		t.Errorf("without owner: %s", out)
	}
	n.Config.Extra += fmt.Sprintf("owner = %d\n", agentUser)
	if out := check(0, 1); !strings.Contains(out, ": ok: ") {
		t.Errorf("with owner: %s", out)
	}
	must(t, n.Start())
	add := func(name, text string) {
		t.Helper()
		hidden := filepath.Join(dir, "."+name)
		must(t, os.WriteFile(hidden, []byte(text), 0o644))
		give(hidden)
		must(t, os.Rename(hidden, filepath.Join(dir, name)))
	}
	add("good.toml", fmt.Sprintf("[[peer]]\nname = \"good\"\npublic_key = %q\nallowed_ips = \"10.77.0.7/32\"\n", publicKey(t)))
	wantLog(t, n, "changed: + peer.good")
	for name, plant := range map[string]func(file string) error{
		"link.toml":   func(file string) error { return os.Symlink(secret, file) },
		"device.toml": func(file string) error { return os.Symlink("/dev/zero", file) },
		"pipe.toml":   func(file string) error { return syscall.Mkfifo(file, 0o644) },
		"psk.toml": func(file string) error {
			return os.WriteFile(file, fmt.Appendf(nil, "[[peer]]\npublic_key = %q\npreshared_key_file = %q\n", publicKey(t), secret), 0o644)
		},
	} {
		file := filepath.Join(dir, name)
		must(t, plant(file))
		give(file)
		wantLog(t, n, "left out: "+file)
		// The daemon starts without such a file, so "check" only warns.
		if out := check(0, 2); !strings.Contains(out, file) || !strings.Contains(out, ": left out (warning)\n") || strings.Contains(out, "hunter") {
			t.Errorf("check: %s", out)
		}
		must(t, os.Remove(file))
	}
	// A file of another user is refused in the owner's directory as well.
	other := filepath.Join(dir, "other.toml")
	must(t, os.WriteFile(other, fmt.Appendf(nil, "[[peer]]\npublic_key = %q\n", publicKey(t)), 0o644))
	must(t, os.Chown(other, agentUser+1, agentUser))
	wantLog(t, n, fmt.Sprintf("other.toml: belongs to user %d", agentUser+1))
	if keys := peerKeys(t, n); len(keys) != 1 || strings.Contains(n.Log(), "hunter") {
		t.Errorf("peers %q, log:\n%s", keys, n.Log())
	}
}

// In TestPeerExpiresWithoutItsAgent, a grant expires while the agent is not running. At that time,
// the daemon must remove and report the peer. A restarted daemon must not add the peer again.
func TestPeerExpiresWithoutItsAgent(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	dir := filepath.Join(t.TempDir(), "peers")
	must(t, os.Mkdir(dir, 0o755))
	n := node(t, f.A(1), "exp", tunnel.Config{Extra: "\n[peers]\ndir = \"" + dir + "\"\n"})
	e, k := startEtcd(t, f.B(1)), newFleetKeys(t)
	m := &member{Node: n, name: "m1", dir: dir, keys: k, etcd: e}
	var err error
	if m.grant, err = k.sign(k.ledger, m.name, n.PublicKey, "10.77.0.1/32"); err != nil {
		t.Fatal(err)
	}
	must(t, n.Start())
	e.lock()
	const life = 8 * time.Second
	guest, err := k.sign(k.ledger, "guest", publicKey(t), "10.77.0.2/32", "--expires", life.String())
	must(t, err)
	end := time.Now().Add(life)
	m.join(t)
	defer m.kill()
	run, err := f.B(1).Start(etcdAgent(t), "join", "--endpoints", e.url, "--user", "root", "--password-file", k.passwd,
		"--fleet", "prod", "--fleet-key", k.public, "--grant", guest, "--dir", t.TempDir(), "guest")
	must(t, err)
	defer run.Kill()
	m.wantPeers(t, maxNews, "guest")
	wantLog(t, n, "changed: + peer.guest")
	m.kill()
	until(t, "the time of the grant is over", 2*life, func() bool { return time.Now().After(end) })
	wantLog(t, n, "peer-expired: peer guest expired at ")
	if keys := peerKeys(t, n); len(keys) != 0 {
		t.Errorf("peers %q", keys)
	}
	m.wantPeers(t, 0, "guest") // the file exists
	must(t, n.Stop())
	must(t, n.Start())
	wantLog(t, n, "peer-expired: peer guest expired at ")
	if keys := peerKeys(t, n); len(keys) != 0 {
		t.Errorf("after a restart: peers %q", keys)
	}
}
