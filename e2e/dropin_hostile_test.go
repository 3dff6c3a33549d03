package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
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
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// guestDir is a directory that agentUser owns, with all its files.
type guestDir string

func newGuestDir(t *testing.T) guestDir {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "peers")
	reachable(t, filepath.Dir(dir))
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.Chown(dir, agentUser, agentUser))
	return guestDir(dir)
}

// section returns the section of a configuration that names the directory.
func (d guestDir) section(allow ...string) string {
	s := fmt.Sprintf("\n[peers]\ndir = %q\nowner = %d\n", string(d), agentUser)
	if len(allow) > 0 {
		s += "allow = [\"" + strings.Join(allow, "\", \"") + "\"]\n"
	}
	return s
}

func (d guestDir) file(name string) string { return filepath.Join(string(d), name) }

// put replaces a file atomically as the user uid; 0 is root.
func (d guestDir) put(t *testing.T, uid int, name, text string) {
	t.Helper()
	hidden := d.file("." + name)
	must(t, os.WriteFile(hidden, []byte(text), 0o644))
	must(t, errors.Join(os.Chown(hidden, uid, uid), os.Rename(hidden, d.file(name))))
}

// guest returns the text of a drop-in file.
func guest(t *testing.T, name string, prefixes ...string) string {
	t.Helper()
	return fmt.Sprintf("[[peer]]\nname = %q\npublic_key = %q\nallowed_ips = [\"%s\"]\n", name, publicKey(t), strings.Join(prefixes, `", "`))
}

// peerNames returns the names of a daemon's peers.
func peerNames(t *testing.T, n *tunnel.Node) []string {
	t.Helper()
	var st struct{ Peers []struct{ Name string } }
	statusOf(t, n, &st)
	names := []string{}
	for _, p := range st.Peers {
		names = append(names, p.Name)
	}
	return names
}

func wantPeerNames(t *testing.T, n *tunnel.Node, when string, want ...string) {
	t.Helper()
	until(t, fmt.Sprintf("%s: peers %q", when, want), 10*time.Second, func() bool { return slices.Equal(peerNames(t, n), want) })
}

// TestOwnerOfADirectoryStopsNothing lets the owner of a drop-in directory make the directory
// unusable in several ways. The daemon must still start, reload, and apply and remove root's files.
// The peers of the directory must stay, or be left out at the start. One warning must name the
// directory and the reason.
func TestOwnerOfADirectoryStopsNothing(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	links := func(name string, n int) func(string) error {
		return func(dir string) (err error) {
			for i := range n {
				err = errors.Join(err, os.Symlink("x", filepath.Join(dir, fmt.Sprintf(name, i))))
			}
			return err
		}
	}
	for i, c := range []struct {
		name, why string
		do        func(dir string) error
	}{
		{"chmod 777", "writable by group or others (mode 0777)", func(dir string) error { return os.Chmod(dir, 0o777) }},
		{"4,097 files", "has more than 4096 files *.toml", links("%d.toml", 4097)},
		{"12,300 files that begin with a dot", "has more than 12288 files of any name", links(".%d", 12_300)},
		{"20,000 files", "has more than 4096 files *.toml", links("x%d.toml", 20_000)},
		{"another directory", "no such file or directory", func(dir string) error { return os.Rename(dir, dir+".x") }},
		{"a link to another directory", "is a link, which does not belong to root", func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".x"), os.Symlink(dir+".x", dir), os.Lchown(dir, agentUser, agentUser))
		}},
	} {
		dir := newGuestDir(t)
		n := node(t, f.A(1), fmt.Sprintf("st%d", i), tunnel.Config{ListenPort: 51900 + i, Extra: dir.section()})
		dir.put(t, agentUser, "a.toml", guest(t, "guest", fmt.Sprintf("10.60.%d.1/32", i)))
		dir.put(t, 0, "r.toml", guest(t, "roots", fmt.Sprintf("10.60.%d.2/32", i)))
		must(t, n.Start())
		wantPeerNames(t, n, "before "+c.name, "roots", "guest")
		must(t, c.do(string(dir)))
		warning := "not read: " + string(dir) + ": " + c.why + ": its peers stay as they were"
		wantLog(t, n, warning)
		// The daemon must apply root's change of the file, and the removal of root's drop-in file.
		main := tunnel.Peer{Name: "main", PublicKey: publicKey(t), AllowedIPs: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.61.%d.0/24", i))}}
		reload(t, n, []tunnel.Peer{main})
		wantPeerNames(t, n, c.name+", reload", "main", "roots", "guest")
		if _, err := os.Lstat(dir.file("r.toml")); err == nil {
			must(t, os.Remove(dir.file("r.toml")))
			wantPeerNames(t, n, c.name+", root removes a file", "main", "guest")
		}
		if got := strings.Count(n.Log(), string(dir)+": "+c.why); got != 1 {
			t.Errorf("%s: %d warnings:\n%s", c.name, got, n.Log())
		}
		must(t, n.Stop())
		if err := n.Start(); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		wantLog(t, n, "not read: "+string(dir)+": "+c.why+": its peers are left out")
		wantPeerNames(t, n, c.name+", restart", "main")
		if got := strings.Count(n.Log(), string(dir)+": "+c.why); got != 1 {
			t.Errorf("%s, restart: %d warnings:\n%s", c.name, got, n.Log())
		}
		must(t, n.Stop())
	}
}

// TestGuestTakesNoTraffic tests that a drop-in file of another user cannot take traffic of root's
// peers, the tunnel's outer packets or traffic of this host. The file also cannot take a route that
// would prevent the start or a reload. A later change of root's file has priority over drop-in
// files, and other drop-in files stay valid.
func TestGuestTakesNoTraffic(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	dir := newGuestDir(t)
	end := netip.AddrPortFrom(f.B(1).Addr4(), 51820)
	main := tunnel.Peer{Name: "office", PublicKey: publicKey(t), Endpoints: []netip.AddrPort{end}, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.62.0.0/16")}}
	n := node(t, f.A(1), "tak", tunnel.Config{Address: []netip.Prefix{netip.MustParsePrefix("10.63.0.1/24")}, Peers: []tunnel.Peer{main}, Extra: dir.section()})
	// The following commands add a route of this host.
	command(t, f.A(1), "ip", "link", "add", "dum0", "type", "veth", "peer", "name", "dum1")
	command(t, f.A(1), "ip", "link", "set", "dum0", "up")
	command(t, f.A(1), "ip", "route", "add", "10.65.0.0/16", "dev", "dum0")
	refused := map[string]string{}
	add := func(name, why string, prefixes ...string) {
		t.Helper()
		dir.put(t, agentUser, name+".toml", guest(t, name, prefixes...))
		refused[name] = why
	}
	add("longer", "10.62.1.1/32 would take traffic from 10.62.0.0/16, which belongs to a peer in "+n.File, "10.62.1.1/32")
	add("around", fmt.Sprintf("contains %s", end.Addr()), netip.PrefixFrom(end.Addr(), 30).Masked().String())
	add("own", "contains 10.63.0.1, an address of this host", "10.63.0.1/32")
	add("default", "is a default route, which only root may configure", "0.0.0.0/0")
	add("host", "10.65.0.0/16", "10.65.0.0/16")
	dir.put(t, agentUser, "good.toml", guest(t, "good", "10.64.0.1/32"))
	told := func(when string) {
		t.Helper()
		wantPeerNames(t, n, when, "office", "good")
		for name, why := range refused {
			wantLog(t, n, "left out: "+dir.file(name+".toml"))
			if !strings.Contains(n.Log(), why) {
				t.Errorf("%s: %s: no %q in\n%s", when, name, why, n.Log())
			}
		}
	}
	must(t, n.Start())
	told("at the start")
	for name := range refused {
		must(t, os.Remove(dir.file(name+".toml")))
	}
	add("later", "10.62.9.0/24 would take traffic", "10.62.9.0/24")
	add("host2", "10.65.0.0/16", "10.65.0.0/16")
	told("while running")
	// Root's file takes a guest's prefix in three ways: by a wider prefix, by an endpoint, and by a
	// narrower grant.
	dir.put(t, agentUser, "good2.toml", guest(t, "good2", "10.66.0.0/24"))
	dir.put(t, agentUser, "good3.toml", guest(t, "good3", "198.18.0.0/24"))
	wantPeerNames(t, n, "more guests", "office", "good", "good2", "good3")
	wide := tunnel.Peer{Name: "wide", PublicKey: publicKey(t), Endpoints: []netip.AddrPort{netip.MustParseAddrPort("198.18.0.7:1")}, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.66.0.0/16")}}
	reload(t, n, []tunnel.Peer{main, wide})
	wantPeerNames(t, n, "the file takes prefixes", "office", "wide", "good")
	wantLog(t, n, "left out: "+dir.file("good2.toml"))
	wantLog(t, n, "198.18.0.0/24 contains 198.18.0.7, the endpoint of another peer")
	// A command of root also takes a guest's prefix.
	add2 := filepath.Join(t.TempDir(), "add.toml")
	must(t, os.WriteFile(add2, []byte(guest(t, "added", "10.64.0.0/16", "10.64.0.1/32")), 0o600))
	if out, err := exec.Command(bin, "addconf", n.File, add2).CombinedOutput(); err != nil {
		t.Errorf("addconf: %v: %s", err, out)
	}
	wantPeerNames(t, n, "a peer that root adds takes prefixes", "office", "wide", "added")
	reload(t, n, []tunnel.Peer{main})
	wantPeerNames(t, n, "as before", "office", "good", "good2", "good3")
	n.Config.Extra = dir.section("10.64.0.0/24", "10.66.0.0/25")
	reload(t, n, []tunnel.Peer{main})
	wantPeerNames(t, n, "with a grant", "office", "good")
	wantLog(t, n, "10.66.0.0/24 is in no prefix of [peers] allow: 10.64.0.0/24, 10.66.0.0/25")
	dir.put(t, agentUser, "good2.toml", guest(t, "good2", "10.66.0.0/26"))
	wantPeerNames(t, n, "within the grant", "office", "good", "good2")
}

// The constants bound the resources that a directory's owner can make a daemon use.
const (
	// floodGrowth is the memory for 4,096 peers with their connections, in bytes. Each peer takes
	// some 30 KiB, and the garbage collector needs a third more.
	floodGrowth = 160 << 20
	// floodRest is the part of this memory in bytes that may remain, because the runtime returns
	// memory late.
	floodRest = 32 << 20
	// floodCPU bounds the share of one processor for a directory that changes constantly.
	floodCPU = 0.4
)

// TestFloodOfDropIns tests that 20,000 files take bounded memory, which is returned after their
// removal. A directory that changes without pause may use only a part of one processor, and must
// not delay root's reload.
func TestFloodOfDropIns(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	dir := newGuestDir(t)
	n := node(t, f.A(1), "fld", tunnel.Config{Extra: dir.section()})
	must(t, n.Start())
	usage := func() fabric.Usage { return usage(t, n) }
	before := usage()
	many := func(count int) {
		t.Helper()
		for i := range count {
			var k [32]byte
			rand.Read(k[:])
			k[31] &= 63
			text := fmt.Sprintf("[[peer]]\npublic_key = %q\nallowed_ips = \"10.%d.%d.%d/32\"\n", base64.StdEncoding.EncodeToString(k[:]), 128+i>>16, i>>8&255, i&255)
			dir.put(t, agentUser, fmt.Sprintf("p%d.toml", i), text)
		}
	}
	many(4096)
	until(t, "4,096 peers", time.Minute, func() bool { return len(peerKeys(t, n)) == 4096 })
	many(20_000)
	wantLog(t, n, string(dir)+": has more than 4096 files *.toml")
	full := usage()
	t.Logf("%d KiB more with 20,000 files, at most %d", (full.RSS-before.RSS)>>10, (full.Peak-before.RSS)>>10)
	if full.Peak > before.RSS+floodGrowth {
		t.Errorf("20,000 files: %d KiB more", (full.Peak-before.RSS)>>10)
	}
	must(t, os.Rename(string(dir), string(dir)+".x"))
	must(t, errors.Join(os.Mkdir(string(dir), 0o755), os.Chown(string(dir), agentUser, agentUser)))
	until(t, "the peers are gone", 30*time.Second, func() bool { return len(peerKeys(t, n)) == 0 })
	until(t, "their memory is returned", time.Minute, func() bool { return usage().RSS < before.RSS+floodRest })
	t.Logf("%d KiB more without them", (usage().RSS-before.RSS)>>10)
	many(1000)
	until(t, "a thousand peers", 30*time.Second, func() bool { return len(peerKeys(t, n)) == 1000 })
	end, ended := make(chan struct{}), make(chan int)
	go func() {
		a, b := dir.file("p7.toml"), dir.file("q7.toml")
		for i := 0; ; i++ {
			select {
			case <-end:
				ended <- i
				return
			default:
				_ = os.Rename(a, b)
				_ = os.WriteFile(dir.file(fmt.Sprintf(".%d", i%100)), nil, 0o644)
				a, b = b, a
			}
		}
	}()
	start, was := time.Now(), usage()
	for i := range 5 {
		time.Sleep(time.Second)
		main := tunnel.Peer{Name: "main", PublicKey: publicKey(t), AllowedIPs: []netip.Prefix{netip.MustParsePrefix(fmt.Sprintf("10.61.%d.0/24", i))}}
		reload(t, n, []tunnel.Peer{main})
	}
	is, took := usage(), time.Since(start)
	close(end)
	share := (is.CPU - was.CPU).Seconds() / took.Seconds()
	t.Logf("%d changes in %v: %.0f %% of a processor, %d KiB more", <-ended, took, 100*share, (is.RSS-before.RSS)>>10)
	if share > floodCPU {
		t.Errorf("%.0f %% of a processor", 100*share)
	}
}
