package e2e

import (
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// rootsDir starts a daemon with a drop-in directory of root, which has the file p1.toml.
func rootsDir(t *testing.T) (*tunnel.Node, guestDir) {
	t.Helper()
	dir := guestDir(t.TempDir())
	must(t, os.Chmod(string(dir), 0o755))
	d := direct(t, fabric.DirectSpec{})
	n := node(t, d.A, "roots", tunnel.Config{Address: []netip.Prefix{netip.MustParsePrefix("10.80.0.1/24")}, Extra: fmt.Sprintf("\n[peers]\ndir = %q\n", string(dir))})
	dir.put(t, 0, "p1.toml", guest(t, "p1", "10.80.0.2/32"))
	must(t, n.Start())
	return n, dir
}

func degraded(t *testing.T, n *tunnel.Node) bool {
	t.Helper()
	return strings.Contains(health(t, n), " is degraded: ")
}

// awaitFault waits until "show --check" exits with 4 because of a fault, and then looks for the
// fault in "show" and "show --json".
func awaitFault(t *testing.T, n *tunnel.Node, fault string) {
	t.Helper()
	await(t, "fault "+fault, func() bool {
		out := health(t, n)
		return strings.Contains(out, " is degraded: "+fault) && strings.HasSuffix(out, "exit 4\n")
	})
	wants(t, "show", cli(t, n.Host, "show", n.Name), "  fault: "+fault)
	var st struct{ Faults []string }
	if statusOf(t, n, &st); len(st.Faults) != 1 || !strings.HasPrefix(st.Faults[0], fault) {
		t.Errorf("faults %q, want %q", st.Faults, fault)
	}
}

// In TestRefusedDropInIsShown, the daemon refuses a file, and then the whole directory, while
// another peer is healthy. "show" must show both faults until they are mended. A file that changes
// in the meantime must be applied afterwards.
func TestRefusedDropInIsShown(t *testing.T) {
	side(t)
	n, dir := rootsDir(t)
	if degraded(t, n) {
		t.Fatalf("before: %s", health(t, n))
	}
	good := guest(t, "p3", "10.80.0.3/32")
	dir.put(t, 0, "p3.toml", strings.Replace(good, "allowed_ips", "alowed_ips", 1))
	awaitFault(t, n, "left out: "+dir.file("p3.toml")+":4: peer.alowed_ips: ")
	dir.put(t, 0, "p3.toml", good)
	await(t, "end of the fault", func() bool { return !degraded(t, n) })

	must(t, os.Chmod(string(dir), 0o777))
	dir.put(t, 0, "p4.toml", guest(t, "p4", "10.80.0.4/32"))
	awaitFault(t, n, "drop-in files are not taken over: "+string(dir)+": writable by group or others (mode 0777)")
	dir.put(t, 0, "p3.toml", good+"persistent_keepalive = 7\n")
	awaitFault(t, n, "drop-in files are not taken over: ")
	must(t, os.Chmod(string(dir), 0o755))
	wantPeerNames(t, n, "mended", "p1", "p3", "p4")
	wantLog(t, n, "peer.p3.persistent_keepalive")
	await(t, "end of the fault", func() bool { return !degraded(t, n) })
}

// In TestRefusedRouteLeavesOutOneFile, this host already has a route to the prefix in one of
// root's drop-in files. The daemon must leave out only this file, and apply it when the route is
// gone.
func TestRefusedRouteLeavesOutOneFile(t *testing.T) {
	side(t)
	n, dir := rootsDir(t)
	do(t, n.Host, "ip route add 10.2.0.0/24 dev lo")
	first := guest(t, "p1", "10.80.0.2/32")
	dir.put(t, 0, "p1.toml", first)
	dir.put(t, 0, "p3.toml", guest(t, "p3", "10.2.0.0/24"))
	fault := dir.file("p3.toml") + ":4: peer.allowed_ips: route 10.2.0.0/24: the main routing table has one already, by lo: file exists"
	awaitFault(t, n, "left out: "+fault)
	dir.put(t, 0, "p5.toml", guest(t, "p5", "10.80.0.5/32"))
	dir.put(t, 0, "p1.toml", first+"persistent_keepalive = 7\n")
	wantLog(t, n, "peer.p1.persistent_keepalive")
	has := func() bool { return slices.Equal(peerNames(t, n), []string{"p1", "p5"}) }
	await(t, "other files", has)
	awaitFault(t, n, "left out: "+fault)

	for _, command := range []string{"check", "reload"} {
		wants(t, command, cli(t, n.Host, command, n.File), fault)
	}
	if out, err := n.Host.Run(bin, "set", n.File, "peer.p5.allowed_ips=10.2.0.0/24"); err == nil || !has() {
		t.Errorf("set: %s, peers %q", out, peerNames(t, n))
	}

	must(t, n.Stop())
	must(t, n.Start())
	await(t, "other files after a restart", has)
	awaitFault(t, n, "left out: "+fault)
	do(t, n.Host, "ip route del 10.2.0.0/24 dev lo")
	await(t, "the file", func() bool { return len(peerNames(t, n)) == 3 && !degraded(t, n) })
}
