package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// manyPrefixes is the largest number of prefixes in a configuration. maxShow and the other
// constants bound the processor time of a command and the daemon together, which does not depend on
// other work on the machine. The usual processor time is a fraction of the bounds, but quadratic
// work would take minutes. The command itself bounds the elapsed time.
const (
	manyPrefixes = 65536
	maxShow      = time.Second
	maxAnswer    = 5 * time.Second
	maxRewire    = 10 * time.Second
)

// TestManyPrefixes gives one peer more prefixes than the address blocks of a country. The commands
// must work, and all prefixes can be removed while the interface runs.
func TestManyPrefixes(t *testing.T) {
	d := direct(t, fabric.DirectSpec{})
	n := quietNode(t, d.A, tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24)}})
	all := make([]netip.Prefix, manyPrefixes)
	for i := range all {
		all[i] = netip.PrefixFrom(netip.AddrFrom16([16]byte{1: 2, 2: byte(i >> 8), 3: byte(i)}), 32)
	}
	n.Config.Peers = []tunnel.Peer{{Name: "land", PublicKey: otherKey(t, n), AllowedIPs: all}}
	must(t, n.Start())
	for _, words := range []string{"show", "show --check", "showconf", "set land.persistent_keepalive", "set all"} {
		args := strings.Fields(words)
		args = append(args[:1:1], append([]string{n.Name}, args[1:]...)...)
		most := maxAnswer
		switch words {
		case "show", "show --check":
			most = maxShow
		case "set land.persistent_keepalive":
			args[2], most = "peer.land.persistent_keepalive=25", maxRewire
		case "set all":
			args[2], most = "peer.land.allowed_ips=10.9.0.2/32", maxRewire
		}
		begin, before := time.Now(), worked(t, n)
		out, err := n.Host.Run(n.Bin, args...)
		took := worked(t, n) - before
		t.Logf("%s: %v of processor time within %v", words, took, time.Since(begin))
		if err != nil || took > most {
			t.Errorf("%s: %.400v, want %v of processor time at most", words, err, most)
		}
		if words == "show" && !strings.Contains(out, "more") {
			t.Errorf("%s: %.400s", words, out)
		}
	}
	if out, err := n.Host.Run("ip", "-6", "route", "show", "dev", n.Name); err != nil || strings.Contains(out, "/32") {
		t.Errorf("routes are left: %.200s %v", out, err)
	}
}

// TestManyDropIns changes a running configuration whose drop-in files are together larger than the
// largest configuration file.
func TestManyDropIns(t *testing.T) {
	side(t)
	const files, each, least = 20, 1600, 1 << 20
	dir := guestDir(t.TempDir())
	must(t, os.Chmod(string(dir), 0o755))
	total := 0
	for i := range files {
		all := make([]string, each)
		for j := range all {
			all[j] = fmt.Sprintf("fd99:aaaa:bbbb:cc%02x:%04x::/80", i, 0x1000+j)
		}
		text := guest(t, fmt.Sprintf("n%d", i), all...)
		total += len(text)
		dir.put(t, 0, fmt.Sprintf("n%d.toml", i), text)
	}
	if total <= least {
		t.Fatalf("%d bytes of files, want more than %d", total, least)
	}
	d := direct(t, fabric.DirectSpec{})
	n := quietNode(t, d.A, tunnel.Config{Address: []netip.Prefix{netip.MustParsePrefix("10.80.0.1/24")}, Extra: fmt.Sprintf("table = \"off\"\n[peers]\ndir = %q\n", string(dir))})
	must(t, n.Start())
	more := filepath.Join(t.TempDir(), "more.toml")
	must(t, os.WriteFile(more, []byte(guest(t, "more", "10.80.0.9/32")), 0o600))
	for _, args := range [][]string{
		{"set", n.Name, "paths.policy=conga"},
		{"set", n.Name, "peer.n5.policy=ecmp"},
		{"set", n.Name, "interface.address=10.80.0.2/24"},
		{"set", n.File, "--save", "paths.policy=letflow"},
		{"addconf", n.Name, more},
		{"set", n.File, "--save", "interface.address=10.80.0.3/24"},
		{"reload", n.File},
	} {
		if out, err := n.Host.Run(n.Bin, args...); err != nil || strings.Contains(out, "is needed") {
			t.Errorf("%v: %v %.400s", args, err, out)
		}
	}
	n.Config.Extra += "[paths]\npolicy = \"plb\"\n"
	reload(t, n, nil)
	if keys := peerKeys(t, n); len(keys) != files {
		t.Errorf("%d peers, want %d", len(keys), files)
	}
}

// quietNode is like node, but a failed test prints no report of a megabyte.
func quietNode(t *testing.T, h *fabric.Host, c tunnel.Config) *tunnel.Node {
	t.Helper()
	n, err := tunnel.NewNode(bin, h, "a", c)
	must(t, err)
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// worked returns the processor time of a daemon and of all commands of this test so far.
func worked(t *testing.T, n *tunnel.Node) time.Duration {
	t.Helper()
	var commands syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &commands))
	return usage(t, n).CPU + time.Duration(commands.Utime.Nano()+commands.Stime.Nano())
}
