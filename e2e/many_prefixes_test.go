package e2e

import (
	"net/netip"
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
	n, err := tunnel.NewNode(bin, d.A, "a", tunnel.Config{Address: []netip.Prefix{netip.PrefixFrom(tunnel.Inner4(1), 24)}})
	must(t, err)
	t.Cleanup(func() { // without a report of a megabyte
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
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

// worked returns the processor time of a daemon and of all commands of this test so far.
func worked(t *testing.T, n *tunnel.Node) time.Duration {
	t.Helper()
	var commands syscall.Rusage
	must(t, syscall.Getrusage(syscall.RUSAGE_CHILDREN, &commands))
	return usage(t, n).CPU + time.Duration(commands.Utime.Nano()+commands.Stime.Nano())
}
