package e2e

import (
	"flag"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

var (
	reloads     = flag.Int("reloads", 60, "how often TestReloadsUnderLoad reloads")
	reloadEvery = flag.Duration("reload-every", 100*time.Millisecond, "how often it does")
)

// reloadGrowth bounds the growth of a daemon's memory over the reloads, in bytes. The memory under
// load varies by 10 MB. The test in the daemon's package has a smaller bound without load.
const reloadGrowth = 24 << 20

// TestReloadsUnderLoad repeatedly changes a hub's file while one spoke sends TCP and datagrams to
// the hub. The other spoke, a peer without a host, and a route are repeatedly removed and added.
// The sending spoke must lose no packet. The daemon, which has dropped its privileges, must free
// all state of removed peers.
func TestReloadsUnderLoad(t *testing.T) {
	f, hub, one, two := star(t)
	lasting := time.Duration(*reloads) * *reloadEvery
	spokes := slices.Clone(hub.Config.Peers)
	other := tunnel.Peer{Name: "nobody", PublicKey: publicKey(t), AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.77.0.0/16")}}
	reload(t, hub, append(slices.Clone(spokes), other)) // allocates everything that is allocated only once
	reload(t, hub, spokes)
	s, err := meter.StartStream(one.Host, hub.Host, tunnel.Inner4(2), tunnel.Inner4(1), 2*time.Millisecond)
	must(t, err)
	defer s.Close()
	r, err := meter.Start(meter.Flow{Client: f.A(1), Server: f.B(1), To: tunnel.Inner4(1), Streams: 1, For: lasting + 2*time.Second})
	must(t, err)
	time.Sleep(time.Second) // waits until the load runs, before the first measurement
	before, err := hub.Usage()
	must(t, err)
	files := descriptors(t, hub)
	tick := time.NewTicker(*reloadEvery)
	defer tick.Stop()
	for i := range *reloads {
		peers := slices.Clone(spokes[:1])
		if i%2 == 1 {
			peers = append(slices.Clone(spokes), other)
		}
		reload(t, hub, peers)
		if i%20 == 9 {
			refuse(t, hub)
		}
		<-tick.C
	}
	must(t, r.Wait())
	got, sum := s.Rest(2*time.Second), r.Sum()
	goodput := sum.Mean(time.Second, lasting)
	after, err := hub.Usage()
	must(t, err)
	t.Logf("%d of %d datagrams, %.0f Mbit/s, %d descriptors before and %d after, %d KiB more",
		got.Arrived, got.Sent, goodput/1e6, files, descriptors(t, hub), (after.RSS-before.RSS)>>10)
	if got.Sent < 1000 || got.Arrived != got.Sent || got.Twice > 0 {
		t.Errorf("of %d datagrams %d arrived, %d of them twice", got.Sent, got.Arrived, got.Twice)
	}
	if stall := sum.Stall(time.Second, sum.End(), 96e6); stall > maxStall {
		t.Errorf("the connection stood still for %v", stall)
	}
	if n := descriptors(t, hub); n > files {
		t.Errorf("%d descriptors, %d before", n, files)
	}
	if after.RSS > before.RSS+reloadGrowth {
		t.Errorf("%d bytes of memory, %d before", after.RSS, before.RSS)
	}
	// The other spoke, which was added last, must be served again without an event of its own.
	if err := two.Await(tunnel.Inner4(1)); err != nil {
		t.Error(err)
	}
}

// reload writes other peers into a node's file, and reloads the file.
func reload(t *testing.T, n *tunnel.Node, peers []tunnel.Peer) {
	t.Helper()
	n.Config.Peers = peers
	must(t, os.WriteFile(n.File, n.Config.TOML(), 0o600))
	if out, err := exec.Command(bin, "reload", n.File).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// refuse reloads an invalid file, and checks that the node refuses it.
func refuse(t *testing.T, n *tunnel.Node) {
	t.Helper()
	before := peerKeys(t, n)
	must(t, os.WriteFile(n.File, append(n.Config.TOML(), "[[peer]]\npublic_key = 3\n"...), 0o600))
	out, err := exec.Command(bin, "reload", n.File).CombinedOutput()
	if err == nil || !strings.Contains(string(out), "peer.public_key: want a string in quotes") || strings.Count(string(out), "\n") != 1 {
		t.Errorf("a wrong file: %v: %s", err, out)
	}
	if after := peerKeys(t, n); !slices.Equal(before, after) {
		t.Errorf("after a wrong file: %q, before %q", after, before)
	}
}

func peerKeys(t *testing.T, n *tunnel.Node) (v []string) {
	t.Helper()
	var st struct {
		Peers []struct {
			PublicKey string `json:"public_key"`
		}
	}
	statusOf(t, n, &st)
	for _, p := range st.Peers {
		v = append(v, p.PublicKey)
	}
	return v
}

// publicKey returns the public key of a peer without a host.
func publicKey(t *testing.T) string {
	t.Helper()
	private, err := exec.Command(bin, "genkey").Output()
	must(t, err)
	c := exec.Command(bin, "pubkey")
	c.Stdin = strings.NewReader(string(private))
	out, err := c.Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

func descriptors(t *testing.T, n *tunnel.Node) int {
	t.Helper()
	v, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", n.Pid()))
	must(t, err)
	return len(v)
}

// TestPeersByDropIn adds and removes peers by files alone, without a command to the daemon.
func TestPeersByDropIn(t *testing.T) {
	side(t)
	f, hub, one, two := star(t)
	dir := filepath.Join(t.TempDir(), "peers")
	reachable(t, filepath.Dir(dir))
	must(t, os.Mkdir(dir, 0o755))
	last := hub.Config.Peers[1]
	hub.Config.Peers = hub.Config.Peers[:1]
	hub.Config.Extra = "\n[peers]\ndir = \"" + dir + "\"\n"
	must(t, hub.Stop())
	must(t, hub.Start())
	must(t, one.Await(tunnel.Inner4(1)))
	file := filepath.Join(dir, "two.toml")
	text := fmt.Sprintf("[[peer]]\nname = \"two\"\npublic_key = %q\nallowed_ips = [%q, %q]\n", last.PublicKey, last.AllowedIPs[0], last.AllowedIPs[1])
	must(t, os.WriteFile(file, []byte(text), 0o644))
	// The hub has no endpoint of the spoke, so the spoke starts the handshake.
	must(t, two.Await(tunnel.Inner4(1)))
	must(t, os.WriteFile(filepath.Join(dir, "wrong.toml"), []byte("[[peer]]\npublic_key = 3\n"), 0o644))
	wantLog(t, hub, "wrong.toml:2: peer.public_key: want a string in quotes")
	must(t, os.Remove(file))
	wantLog(t, hub, "changed: - peer.two")
	if _, err := f.A(2).Run("ping", "-n", "-q", "-c1", "-W1", tunnel.Inner4(1).String()); err == nil {
		t.Error("a peer whose file is gone is answered")
	}
	if err := one.Await(tunnel.Inner4(1)); err != nil {
		t.Error(err)
	}
}

// wantLog waits until the daemon's log contains the text.
func wantLog(t *testing.T, n *tunnel.Node, text string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !strings.Contains(n.Log(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the log does not say %q", text)
		}
	}
}

// TestCommandsOfOneRight tests that a command that runs after the start has the daemon's remaining
// capability, under any user, and may change the network.
func TestCommandsOfOneRight(t *testing.T) {
	f := network(t, fabric.Spec{})
	for _, uid := range []int{0, 1234} {
		ownRunDir(t, uid)
		p := pair(t, f, tunnel.Config{Extra: `post_up = [["ip", "route", "add", "10.99.0.0/16", "dev", "%i"], ["sh", "-c", "grep CapEff /proc/self/status; id -u"]]
pre_down = [["ip", "rule", "add", "pref", "77", "lookup", "77"]]
`})
		if out, err := f.A(1).Run("ip", "route", "show", "10.99.0.0/16"); err != nil || !strings.Contains(string(out), p.A.Name) {
			t.Errorf("user %d: route %q, %v", uid, out, err)
		}
		if want := fmt.Sprintf("%s; %d", netAdmin, uid); !strings.Contains(p.A.Log(), want) {
			t.Errorf("user %d: the command does not say %q\n%s", uid, want, p.A.Log())
		}
		for _, n := range []*tunnel.Node{p.A, p.B} {
			if err := n.Down(); err != nil {
				t.Error(err)
			}
			if out, err := n.Host.Run("ip", "rule", "del", "pref", "77"); err != nil {
				t.Errorf("user %d: no rule of pre_down's: %v %s", uid, err, out)
			}
		}
	}
}
