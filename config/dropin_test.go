package config

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/internal/keytext"
)

// dropDir creates a directory with the given drop-in files, by name.
func dropDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(withKeys(text)), 0o600))
	}
	return dir
}

func TestDropIns(t *testing.T) {
	dir := dropDir(t, map[string]string{
		"1.toml":     "[[peer]]\nname = 'one'\npublic_key = '$1'\nallowed_ips = '10.0.0.2'\n",
		"2.toml":     "[[peer]]\nname = 'one'\npublic_key = '$2'\n",
		"3.toml":     "[[peer]]\npublic_key = '$2'\nallowed_ips = '10.0.0.2'\n",
		"4.toml":     "[[peer]]\npublic_key = '$1'\n",
		"5.toml":     "[[peer]]\npublic_key = '$2'\n[[peer]]\npublic_key = '$3'\n",
		"6.toml":     "[interface]\nmtu = 1400\n[[peer]]\npublic_key = '$3'\n",
		"7.toml":     "",
		"8.toml":     "[[peer]]\nname = 'x'\n",
		"8a.toml":    "[[peer]]\nname = '10.0.0.2'\npublic_key = '$3'\n",
		"9.toml":     "[[peer]]\npublic_key = '$2'\npreshared_key = '$psk'\npolicy = 'plb'\n",
		".a.toml":    "nonsense",
		"b.toml.bak": "nonsense",
	})
	must(t, os.Mkdir(filepath.Join(dir, "c.toml"), 0o700))
	must(t, syscall.Mkfifo(filepath.Join(dir, "d.toml"), 0o600))
	c := parsed(t, mainPart+"[peers]\ndir = '"+dir+"'\n")
	c.Peers = []Peer{{PublicKey: key(t, wgPairs[3].public), File: "/gone/before.toml"}}
	got, faults, err := WithDropIns(c)
	must(t, err)
	if len(got.Peers) != 2 || got.Peers[0].Name != "one" || got.Peers[1].Policy != "plb" || got.Peers[1].File != dir+"/9.toml" {
		t.Errorf("peers %+v", got.Peers)
	}
	want := []string{
		`2.toml:2: peer.name: "one" names another peer already, in ` + dir + "/1.toml",
		`3.toml:3: peer.allowed_ips: 10.0.0.2/32 belongs to another peer already, in ` + dir + "/1.toml",
		`4.toml:2: peer.public_key: belongs to another peer already, in ` + dir + "/1.toml",
		`5.toml:3: peer: more than 1 of them`,
		`6.toml:1: interface: is not allowed in a drop-in file, which has one [[peer]]`,
		`7.toml: has no [[peer]]`,
		`8.toml:1: peer.public_key: is missing`,
		`8a.toml:2: peer.name: a name cannot be an address: an address stands for the peer that it belongs to`,
		`c.toml: not a regular file`,
		`d.toml: not a regular file`,
	}
	for i, err := range faults {
		if i >= len(want) || err.Error() != filepath.Join(dir, want[i]) {
			t.Errorf("fault %d: %v", i, err)
		}
	}
	if len(faults) != len(want) {
		t.Errorf("%d faults, want %d", len(faults), len(want))
	}
}

// No user other than root and the owner may add a peer or read a secret.
func TestDropInsOfOthers(t *testing.T) {
	peer := "[[peer]]\npublic_key = '$1'\n"
	dir := dropDir(t, map[string]string{"a.toml": peer, "b.toml": peer, "c.toml": peer + "preshared_key = '$psk'\n"})
	c := parsed(t, mainPart+"[peers]\ndir = '"+dir+"'\n")
	change := func(err error) {
		t.Helper()
		must(t, err)
	}
	change(os.Chmod(dir+"/a.toml", 0o620))
	change(os.Chown(dir+"/b.toml", 65534, 65534))
	change(os.Chmod(dir+"/c.toml", 0o640))
	got, faults, err := WithDropIns(c)
	if err != nil || len(got.Peers) != 0 || len(faults) != 3 {
		t.Fatalf("peers %+v, faults %v", got.Peers, faults)
	}
	for i, want := range []string{"writable by group or others", "belongs to user 65534", "others may read this file"} {
		if !strings.Contains(faults[i].Error(), want) {
			t.Errorf("%v, want %s", faults[i], want)
		}
	}
	change(os.Chmod(dir, 0o777))
	if _, _, err := WithDropIns(c); err == nil || !strings.Contains(err.Error(), "writable by group or others (mode 0777)") {
		t.Error(err)
	}
	c.PeersDir += "x"
	if _, _, err := WithDropIns(c); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Error(err)
	}
}

// Only changed files are read again, but the result is the same as after reading all files.
func TestDropInsAgain(t *testing.T) {
	dir := dropDir(t, map[string]string{
		"1.toml": "[[peer]]\nname = 'one'\npublic_key = '$1'\nallowed_ips = '10.0.0.2'\n",
		"2.toml": "[[peer]]\nname = 'two'\npublic_key = '$2'\nallowed_ips = '10.0.0.3'\n",
		"3.toml": "[[peer]]\nname = 'three'\npublic_key = '$3'\npreshared_key = '$psk'\n",
	})
	c := parsed(t, mainPart+"[peers]\ndir = '"+dir+"'\n")
	var d DropIns
	look := func(reread ...string) {
		t.Helper()
		// Pretend that all files were read long after they were written, so their time stamps are
		// reliable.
		for name, r := range d.read {
			r.at = r.at.Add(time.Hour)
			d.read[name] = r
		}
		before := maps.Clone(d.read)
		got, faults, err := d.With(c, nil)
		want, wantFaults, _ := WithDropIns(c)
		if err != nil || fmt.Sprint(faults) != fmt.Sprint(wantFaults) || !slices.EqualFunc(got.Peers, want.Peers, func(a, b Peer) bool { return SamePeer(&a, &b) && a.File == b.File }) {
			t.Fatalf("%+v, %v, %v\nwant %+v, %v", got.Peers, faults, err, want.Peers, wantFaults)
		}
		var again []string
		for file, r := range d.read {
			if old, ok := before[file]; !ok || !old.at.Equal(r.at) {
				again = append(again, filepath.Base(file))
			}
		}
		if slices.Sort(again); !slices.Equal(again, reread) {
			t.Errorf("read %q, want %q", again, reread)
		}
	}
	write := func(name, text string) {
		t.Helper()
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(withKeys(text)), 0o600))
	}
	look("1.toml", "2.toml")
	look()
	write("2.toml", "[[peer]]\nname = 'two'\npublic_key = '$2'\nallowed_ips = '10.0.0.4'\n")
	look("2.toml")
	write("0.toml", "[[peer]]\nname = 'zero'\npublic_key = '"+wgPairs[3].public+"'\nallowed_ips = '10.0.0.2'\n") // as the peer of 1.toml
	look("0.toml")
	must(t, os.Remove(filepath.Join(dir, "0.toml")))
	look("1.toml")
	must(t, os.Chmod(filepath.Join(dir, "2.toml"), 0o666))
	look()
	c.Paths.Policy = "plb"
	look("1.toml")

	// If With gets a list of changed files, it examines only those.
	write("1.toml", "[[peer]]\nname = 'uno'\npublic_key = '$1'\n")
	named := func(want string, files ...string) {
		t.Helper()
		got, _, err := d.With(c, func(file string) bool { return slices.Contains(files, filepath.Base(file)) })
		if err != nil || len(got.Peers) == 0 || got.Peers[0].Name != want {
			t.Errorf("%+v, %v", got.Peers, err)
		}
	}
	named("one", "2.toml")
	named("uno", "1.toml")
}

// This test fails if a new key of a peer is added and alike does not compare it.
func TestAlikeSeesAllKeys(t *testing.T) {
	if n := reflect.TypeFor[Peer]().NumField(); n != 11 { // the last field is lines, which is not a key
		t.Errorf("a peer has %d fields: does alike compare them?", n)
	}
	a := parsed(t, withKeys(everything)).Peers[0]
	change := []func(p *Peer){
		func(p *Peer) { p.Name += "x" },
		func(p *Peer) { p.PublicKey[0]++ },
		func(p *Peer) { p.PresharedKey = NewSecret([32]byte{1}) },
		func(p *Peer) { p.Endpoints = append(slices.Clone(p.Endpoints), Endpoint{"10.0.0.1", 1}) },
		func(p *Peer) {
			p.AllowedIPs = append(slices.Clone(p.AllowedIPs), netip.MustParsePrefix("10.250.0.0/16"))
		},
		func(p *Peer) { p.Policy = "other" },
		func(p *Peer) { p.PersistentKeepalive += time.Second },
		func(p *Peer) { p.Expires = p.Expires.Add(time.Second) },
		func(p *Peer) { p.Guest = !p.Guest },
	}
	for i, do := range change {
		b := a
		if do(&b); alike(&a, &b) {
			t.Errorf("change %d is not seen", i)
		}
	}
	if b := a; !alike(&a, &b) {
		t.Error("a copy is not alike")
	}
}

// peersFit finds the same contradictions of peers as the full check.
func TestPeersFit(t *testing.T) {
	c := parsed(t, mainPart)
	one := Peer{Name: "one", PublicKey: Key{9: 1}, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.200.0.1/32")}, Policy: c.Paths.Policy}
	own, err := c.Interface.PrivateKey.Public()
	must(t, err)
	for i, do := range []func(p *Peer){
		func(p *Peer) {},
		func(p *Peer) { p.Name = "one" },
		func(p *Peer) { p.PublicKey = one.PublicKey },
		func(p *Peer) { p.PublicKey = own },
		func(p *Peer) { p.PublicKey = keytext.LowOrder[2] },
		func(p *Peer) { p.AllowedIPs = one.AllowedIPs },
		func(p *Peer) { p.AllowedIPs = append(p.AllowedIPs, p.AllowedIPs[0]) },
		func(p *Peer) { p.Endpoints = []Endpoint{{"10.200.0.2", 1}} },
	} {
		two := Peer{Name: "two", PublicKey: Key{9: 2}, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.200.0.2/32")}, Policy: c.Paths.Policy}
		do(&two)
		with := *c
		with.Peers = []Peer{one, two}
		if fit, sound := peersFit(&with), with.sound() == nil; fit != sound || fit != (i == 0) {
			t.Errorf("change %d: fit %v, sound %v", i, fit, sound)
		}
	}
}

// guestUser is the owner of files that the tests read as another user.
const guestUser = 65534

// guestDir creates a directory that belongs to a user other than root, with the user's files in it.
func guestDir(t *testing.T, files map[string]string) *Config {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("root is needed to give files away")
	}
	dir := dropDir(t, files)
	give(t, dir)
	for name := range files {
		give(t, filepath.Join(dir, name))
	}
	c := parsed(t, mainPart+"[peers]\ndir = '"+dir+"'\nowner = "+fmt.Sprint(guestUser)+"\n")
	return c
}

func give(t *testing.T, file string) {
	t.Helper()
	must(t, os.Lchown(file, guestUser, guestUser))
}

// The user that the configuration names may add peers. No other user may, not even the daemon's
// user.
func TestDropInsOfTheOwner(t *testing.T) {
	c := guestDir(t, map[string]string{"a.toml": "[[peer]]\npublic_key = '$1'\n"})
	if got, err := CheckDropIns(c); err != nil || len(got.Peers) != 1 {
		t.Fatalf("of the owner: %v", err)
	}
	byName := *c
	byName.PeersOwner = "nobody"
	if got, err := CheckDropIns(&byName); err != nil || len(got.Peers) != 1 {
		t.Errorf("of the owner by name: %v", err)
	}
	for owner, want := range map[string]string{
		"":            "belongs to user 65534 (nobody); want root, or the user that [peers] owner names",
		"1":           "belongs to user 65534 (nobody); want root, or the user that [peers] owner names",
		"root":        "belongs to user 65534 (nobody); want root, or the user that [peers] owner names",
		"nobody-here": `this host has no user "nobody-here"`,
	} {
		other := *c
		other.PeersOwner = owner
		if _, err := CheckDropIns(&other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("owner %q: %v", owner, err)
		}
	}
}

// The owner may have any user number of 32 bits.
func TestDropInsOfAnyUser(t *testing.T) {
	for _, uid := range []uint32{1 << 31, 3_000_000_000, maxUID} {
		c := guestDir(t, map[string]string{"a.toml": "[[peer]]\npublic_key = '$1'\n"})
		for _, file := range []string{c.PeersDir, filepath.Join(c.PeersDir, "a.toml")} {
			must(t, syscall.Chown(file, int(uid), 0))
		}
		for _, owner := range []string{fmt.Sprintf("%d", uid), fmt.Sprintf("'%d'", uid)} {
			named := parsed(t, mainPart+"[peers]\ndir = '"+c.PeersDir+"'\nowner = "+owner+"\n")
			if got, err := CheckDropIns(named); err != nil || len(got.Peers) != 1 {
				t.Errorf("owner = %s: %v", owner, err)
			}
		}
		want := fmt.Sprintf("belongs to user %d; want root", uid)
		if _, err := CheckDropIns(c); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

// In the directory of a user other than root, links, devices and pipes are refused. So are files
// with a second name (hard links), and key files that a peer names. Each fault is one line, which
// shows nothing of the file's content.
func TestOwnerCannotHaveFilesRead(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret.toml")
	must(t, os.WriteFile(secret, []byte("hunter2\n"), 0o600))
	c := guestDir(t, map[string]string{
		"f.toml": "[[peer]]\npublic_key = '$1'\npreshared_key_file = '" + secret + "'\n",
		"g.toml": "[[peer]]\npublic_key = '$2'\n",
	})
	in := func(name string) string { return filepath.Join(c.PeersDir, name) }
	outside := filepath.Join(filepath.Dir(c.PeersDir), "outside")
	must(t, os.WriteFile(outside, []byte("hunter2\n"), 0o600))
	for _, err := range []error{
		os.Symlink(secret, in("a.toml")), os.Symlink("g.toml", in("b.toml")), os.Symlink("/dev/zero", in("c.toml")),
		syscall.Mkfifo(in("d.toml"), 0o600), os.Link(outside, in("e.toml")),
	} {
		must(t, err)
	}
	for _, name := range []string{"a.toml", "b.toml", "d.toml"} {
		give(t, in(name))
	}
	// A link of root is refused too, because in this directory other users can choose its name.
	must(t, os.Symlink(secret, in("h.toml")))
	got, faults, err := WithDropIns(c)
	if err != nil || len(got.Peers) != 1 || got.Peers[0].File != in("g.toml") {
		t.Fatalf("%+v, %v", got, err)
	}
	want := []string{
		"a.toml: is a link; links are followed only in root's directories",
		"b.toml: is a link; links are followed only in root's directories",
		"c.toml: is a link; links are followed only in root's directories",
		"d.toml: not a regular file",
		"e.toml: has several names (hard links)",
		"f.toml:3: peer.preshared_key_file: only root's file in root's directory may name a file; give preshared_key itself",
		"h.toml: is a link; links are followed only in root's directories",
	}
	for i, err := range faults {
		if i >= len(want) || err.Error() != in(want[i]) {
			t.Errorf("fault %d: %v", i, err)
		}
	}
	if len(faults) != len(want) {
		t.Errorf("%d faults, want %d", len(faults), len(want))
	}
}

// Between the check and the opening of a file, the owner may replace the file by a link. The link
// is not followed, even to a file of the same directory.
func TestLinkThatComesLateIsNotFollowed(t *testing.T) {
	c := guestDir(t, map[string]string{"a.toml": "[[peer]]\npublic_key = '$1'\n"})
	must(t, os.Symlink("a.toml", filepath.Join(c.PeersDir, "b.toml")))
	d, err := openPeerDir(c.PeersDir, guestUser)
	must(t, err)
	defer d.close()
	if f, err := d.openNoFollow("b.toml"); err != errLink {
		t.Errorf("%v, %v", f, err)
	}
	f, err := d.openNoFollow("a.toml")
	must(t, err)
	f.Close()
}

// A user who owns a parent directory may replace root's directory by another one while it is read.
// The files are still read from the open directory, and no link in the new directory is followed.
func TestDirectoryThatIsReplacedIsNotRead(t *testing.T) {
	top := t.TempDir()
	dir, secret := filepath.Join(top, "peers"), filepath.Join(top, "secret")
	must(t, os.Mkdir(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a.toml"), []byte("root's"), 0o600))
	must(t, os.Symlink("a.toml", filepath.Join(dir, "b.toml")))
	must(t, os.WriteFile(secret, []byte("secret"), 0o600))
	d, err := openPeerDir(dir, guestUser)
	must(t, err)
	defer d.close()
	must(t, os.Rename(dir, dir+".old"))
	must(t, os.Mkdir(dir, 0o755))
	give(t, dir)
	for _, name := range []string{"a.toml", "b.toml"} {
		must(t, os.Symlink(secret, filepath.Join(dir, name)))
		d.left = maxDropIn
		if text, _, err := d.read(name); err != nil || string(text) != "root's" {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// The directory that is read is the one that was checked.
func TestDirectoryChangesWhileItIsOpened(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	link, err := os.Lstat(a)
	must(t, err)
	root, err := os.OpenRoot(b)
	must(t, err)
	defer root.Close()
	info, err := root.Stat(".")
	must(t, err)
	if err := sameDirectory(link, info); err == nil {
		t.Error("another directory is taken for it")
	}
	if err := sameDirectory(info, info); err != nil {
		t.Error(err)
	}
}

// The directory's owner may create any number of entries of any kind. The number that is read is
// bounded.
func TestNamesOfADirectoryAreBounded(t *testing.T) {
	c := guestDir(t, nil)
	first := filepath.Join(c.PeersDir, "0")
	must(t, errors.Join(syscall.Mkfifo(first, 0o600), repeat(first, c.PeersDir, "%d", maxEntries+1)))
	got, faults, err := WithDropIns(c)
	if err != nil || len(got.Peers) != 0 || len(faults) != 1 || !strings.Contains(faults[0].Error(), "more than 12288 files of any name: its peers are left out") {
		t.Errorf("%+v, %v, %v", got, faults, err)
	}
}

// The owner cannot make the daemon read another directory in place of his own.
func TestOwnersDirectoryBehindALink(t *testing.T) {
	c := guestDir(t, map[string]string{"a.toml": "[[peer]]\npublic_key = '$1'\n"})
	link := filepath.Join(t.TempDir(), "peers")
	must(t, os.Symlink(c.PeersDir, link))
	c.PeersDir = link
	if _, err := CheckDropIns(c); err != nil {
		t.Errorf("behind root's link: %v", err)
	}
	give(t, link)
	if _, err := CheckDropIns(c); err == nil || !strings.Contains(err.Error(), "is a link, which does not belong to root") {
		t.Errorf("behind his: %v", err)
	}
}

// If two files claim the same key, name or prefix, root's file wins, whatever the files' names are.
func TestRootsDropInsComeFirst(t *testing.T) {
	c := guestDir(t, map[string]string{"a.toml": "[[peer]]\nname = 'agents'\npublic_key = '$1'\nallowed_ips = '10.0.0.2'\n"})
	must(t, os.WriteFile(filepath.Join(c.PeersDir, "z.toml"), []byte(withKeys("[[peer]]\nname = 'roots'\npublic_key = '$2'\nallowed_ips = '10.0.0.2'\n")), 0o644))
	var d DropIns
	for _, changed := range []func(string) bool{nil, func(string) bool { return false }, nil} {
		got, faults, err := d.With(c, changed)
		if err != nil || len(got.Peers) != 1 || got.Peers[0].Name != "roots" || len(faults) != 1 {
			t.Fatalf("%+v, %v, %v", got, faults, err)
		}
	}
}

// A doubt names the line number from the first reading. The file is not opened again by its name,
// because its owner may have replaced it by a link.
func TestDoubtsOpenNoDropInAgain(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.toml")
	text := "[[peer]]\n# x\npublic_key = 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg='\nallowed_ips = '224.0.0.0/24'\n\nendpoints = '10.9.0.7:1'\n"
	must(t, os.WriteFile(file, []byte(text), 0o600))
	c := parsed(t, "[interface]\naddress = '10.9.0.1/24'\nprivate_key = 'oD1r4LpO1DCso8wyo3uhFx/dZW5TY3VxK7QRfwNYDHY='\n[peers]\ndir = '"+dir+"'\n")
	with, faults, err := WithDropIns(c)
	if err != nil || len(faults) > 0 {
		t.Fatal(err, faults)
	}
	for _, later := range []string{text, "\n\n\n\n" + text, ""} {
		must(t, os.WriteFile(file, []byte(later), 0o600))
		var got []string
		for _, d := range with.Doubts(time.Now(), nil) {
			got = append(got, d.Error())
		}
		if len(got) != 2 || !strings.HasPrefix(got[0], file+":4: peer.allowed_ips: 224.0.0.0/24 contains multicast addresses") || !strings.HasPrefix(got[1], file+":6: peer.endpoints: 10.9.0.7") {
			t.Errorf("%q", got)
		}
	}
}

// If a prefix contains addresses that no peer can have, it is a doubt in a peer of root's, and is
// refused in a guest peer.
func TestUnusablePrefixesAreDoubts(t *testing.T) {
	doubts := func(prefix string) int {
		c := parsed(t, "[interface]\naddress = '10.9.0.1/24'\nprivate_key = 'oD1r4LpO1DCso8wyo3uhFx/dZW5TY3VxK7QRfwNYDHY='\n[[peer]]\npublic_key = 'xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg='\nallowed_ips = '"+prefix+"'\n")
		return len(c.Doubts(time.Now(), nil))
	}
	for _, p := range []string{"224.0.0.0/4", "239.1.2.3/32", "127.0.0.0/8", "127.0.0.53/32", "126.0.0.0/7", "255.255.255.255/32", "169.254.0.0/16", "0.0.0.0/8", "0.0.0.0/32", "::/128", "::1/128", "fe80::/10", "fe80::1/128", "ff00::/8", "ff02::1/128"} {
		if doubts(p) != 1 {
			t.Errorf("%s: %d doubts", p, doubts(p))
		}
	}
	for _, p := range []string{"0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/1", "::/1", "8000::/1", "10.0.0.0/8", "2000::/3", "fd00::/8", "192.168.0.0/16"} {
		if doubts(p) != 0 {
			t.Errorf("%s: %d doubts", p, doubts(p))
		}
	}
}
