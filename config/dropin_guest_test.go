package config

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// rootsPart is a configuration of root with peers, addresses and endpoints. No guest may take their
// traffic.
const rootsPart = `[interface]
private_key = "$0"
address = ["10.80.0.1/24", "fd80::1/64"]
[paths]
local = "198.51.100.9"
[[peer]]
name = "Office"
public_key = "$1"
endpoints = ["203.0.113.7:51820", "office.example:51820"]
allowed_ips = ["10.1.0.0/16", "10.9.7.0/24", "fd01::/64"]
`

// guestsOf adds a drop-in directory with one file of another user to rootsPart, and reads it.
func guestsOf(t *testing.T, allow, peer string) (*Config, []error) {
	t.Helper()
	c := guestDir(t, map[string]string{"a.toml": "[[peer]]\n" + peer, "b.toml": "[[peer]]\npublic_key = '$3'\nallowed_ips = '10.9.250.1'\n"})
	text := rootsPart + "[peers]\ndir = '" + c.PeersDir + "'\nowner = " + fmt.Sprint(guestUser) + "\n"
	if allow != "" {
		text += "allow = " + allow + "\n"
	}
	d := DropIns{Around: func() Around {
		return Around{Own: []netip.Addr{netip.MustParseAddr("192.0.2.5"), netip.MustParseAddr("fe80::5")}, Ends: map[Key][]netip.Addr{key(t, wgPairs[1].public): {netip.MustParseAddr("203.0.113.99")}}}
	}}
	got, faults, err := d.With(parsed(t, text), nil)
	must(t, err)
	return got, faults
}

// A file of the directory's owner is left out if its peer would take traffic of root's peers, of
// this host or of a tunnel's outer packets. It is also left out if the peer could be mistaken for
// another one. No other file is left out with it.
func TestGuestTakesNothingOfOthers(t *testing.T) {
	const k = "public_key = '$2'\n"
	for _, c := range []struct{ name, allow, peer, want string }{
		{"nothing of others", "", k + "name = 'db1'\nallowed_ips = ['10.2.0.0/16', 'fd02::/64']\nendpoints = '203.0.113.8:51820'\n", ""},
		{"longer prefix inside of root's", "", k + "allowed_ips = ['10.2.0.0/16', '10.1.2.3']\n", "3: peer.allowed_ips: 10.1.2.3/32 would take traffic from 10.1.0.0/16, which belongs to a peer in s.toml"},
		{"the same in IPv6", "", k + "allowed_ips = 'fd01::9'\n", "3: peer.allowed_ips: fd01::9/128 would take traffic from fd01::/64, which belongs to a peer in s.toml"},
		{"equal prefix", "", k + "allowed_ips = '10.1.0.0/16'\n", "3: peer.allowed_ips: 10.1.0.0/16 belongs to another peer already, in s.toml"},
		{"prefix around root's, which takes nothing", "", k + "allowed_ips = '10.0.0.0/9'\n", "3: peer.allowed_ips: 10.0.0.0/9 contains 10.80.0.1, an address of this host"},
		{"default route", "", k + "allowed_ips = '0.0.0.0/0'\n", "3: peer.allowed_ips: 0.0.0.0/0 is a default route, which only root may configure"},
		{"multicast", "", k + "allowed_ips = '224.0.0.0/4'\n", "3: peer.allowed_ips: 224.0.0.0/4 contains multicast addresses"},
		{"around multicast", "", k + "allowed_ips = '192.0.0.0/2'\n", "3: peer.allowed_ips: 192.0.0.0/2 contains multicast addresses"},
		{"multicast in IPv6", "", k + "allowed_ips = 'ff02::/16'\n", "3: peer.allowed_ips: ff02::/16 contains multicast addresses"},
		{"broadcast", "", k + "allowed_ips = '255.255.255.255'\n", "3: peer.allowed_ips: 255.255.255.255/32 contains the broadcast address"},
		{"loopback", "", k + "allowed_ips = '127.0.0.53'\n", "3: peer.allowed_ips: 127.0.0.53/32 contains loopback addresses"},
		{"loopback in IPv6", "", k + "allowed_ips = '::1'\n", "3: peer.allowed_ips: ::1/128 contains the loopback address"},
		{"link-local", "", k + "allowed_ips = '169.254.169.254'\n", "3: peer.allowed_ips: 169.254.169.254/32 contains link-local addresses"},
		{"link-local in IPv6", "", k + "allowed_ips = 'fe80::/64'\n", "3: peer.allowed_ips: fe80::/64 contains link-local addresses"},
		{"unspecified", "", k + "allowed_ips = '0.0.0.0'\n", "3: peer.allowed_ips: 0.0.0.0/32 contains addresses of this network (0.0.0.0/8)"},
		{"unspecified in IPv6", "", k + "allowed_ips = '::'\n", "3: peer.allowed_ips: ::/128 contains the unspecified address"},
		{"default route in IPv6", `["::/0", "10.9.0.0/16"]`, k + "allowed_ips = '::/0'\n", "3: peer.allowed_ips: ::/0 is a default route, which only root may configure"},
		{"address of the tunnel", "", k + "allowed_ips = '10.80.0.1'\n", "3: peer.allowed_ips: 10.80.0.1/32 contains 10.80.0.1, an address of this host"},
		{"address of the host", "", k + "allowed_ips = '192.0.2.5/31'\n", "3: peer.allowed_ips: 192.0.2.4/31 contains 192.0.2.5, an address of this host"},
		{"address of paths.local", "", k + "allowed_ips = '198.51.100.0/24'\n", "3: peer.allowed_ips: 198.51.100.0/24 contains 198.51.100.9, an address of this host"},
		{"endpoint of root's peer", "", k + "allowed_ips = '203.0.113.0/28'\n", "3: peer.allowed_ips: 203.0.113.0/28 contains 203.0.113.7, the endpoint of another peer"},
		{"where root's peer has moved", "", k + "allowed_ips = '203.0.113.99'\n", "3: peer.allowed_ips: 203.0.113.99/32 contains 203.0.113.99, the endpoint of another peer"},
		{"within the grant", `["10.9.0.0/16"]`, k + "allowed_ips = '10.9.1.0/24'\n", ""},
		{"the whole grant, around root's peer", `["10.9.0.0/16"]`, k + "allowed_ips = '10.9.0.0/16'\n", ""},
		{"outside of the grant", `["10.9.0.0/16", "fd09::/32"]`, k + "allowed_ips = ['10.9.1.0/24', '10.8.0.0/15']\n", "3: peer.allowed_ips: 10.8.0.0/15 is in no prefix of [peers] allow: 10.9.0.0/16, fd09::/32"},
		{"the other family than granted", `"10.9.0.0/16"`, k + "allowed_ips = 'fd09::/64'\n", "3: peer.allowed_ips: fd09::/64 is in no prefix of [peers] allow: 10.9.0.0/16"},
		{"within the grant, inside of root's", `["10.9.0.0/16"]`, k + "allowed_ips = '10.9.7.7'\n", "3: peer.allowed_ips: 10.9.7.7/32 would take traffic from 10.9.7.0/24, which belongs to a peer in s.toml"},
		{"root's exception from his own prefix", `["10.1.5.0/24", "10.9.0.0/16"]`, k + "allowed_ips = '10.1.5.7'\n", ""},
		{"beyond that exception", `["10.1.5.0/24", "10.9.0.0/16", "10.0.0.0/8"]`, k + "allowed_ips = '10.1.4.0/23'\n", "3: peer.allowed_ips: 10.1.4.0/23 would take traffic from 10.1.0.0/16, which belongs to a peer in s.toml"},
		{"name with the look of root's", "", k + "name = 'off1ce'\n", `3: peer.name: "off1ce" looks like the name of a peer in s.toml`},
		{"name with a letter of another script", "", k + "name = \"\\u041effice\"\n", "3: peer.name: a name in a file of a user who is not root has a-z, A-Z, 0-9, '-', '_', '.' and '@' only, and begins with a letter or digit"},
		{"name of a resolver's", "", k + "endpoints = 'db1.example:51820'\n", `3: peer.endpoints: "db1.example" is a name; want an address in a file of a user who is not root`},
		{"endpoint of root's peer, which harms nobody", "", k + "endpoints = ['203.0.113.8:1', '203.0.113.7:51820']\n", ""},
		{"time far away", "", k + "expires = '9999-12-31T23:59:59Z'\n", ""},
	} {
		got, faults := guestsOf(t, c.allow, c.peer)
		text := errors.Join(faults...)
		want, peers := c.want, 3
		if want != "" {
			want, peers = filepath.Join(got.PeersDir, "a.toml:"+want), 2
		}
		if len(got.Peers) != peers || fmt.Sprint(text) != cmp2(want == "", "<nil>", want) {
			t.Errorf("%s: %d peers, %v\nwant %s", c.name, len(got.Peers), text, want)
		}
	}
}

func cmp2(is bool, a, b string) string {
	if is {
		return a
	}
	return b
}

// In a directory of the configured owner, the peers in root's files do not count as guests.
func TestRootsFilesAreNoGuests(t *testing.T) {
	c := guestDir(t, map[string]string{"a.toml": "[[peer]]\npublic_key = '$1'\nallowed_ips = '10.1.2.0/24'\n"})
	must(t, os.WriteFile(filepath.Join(c.PeersDir, "z.toml"), []byte(withKeys("[[peer]]\nname = 'Büro'\npublic_key = '$2'\nallowed_ips = '10.1.0.0/16'\nendpoints = 'office.example:1'\n")), 0o644))
	got, faults, err := WithDropIns(c)
	if err != nil || len(got.Peers) != 1 || got.Peers[0].Name != "Büro" || got.Peers[0].Guest || len(faults) != 1 ||
		!strings.Contains(faults[0].Error(), "10.1.2.0/24 would take traffic from 10.1.0.0/16, which belongs to a peer in "+c.PeersDir+"/z.toml") {
		t.Errorf("%+v, %v, %v", got, faults, err)
	}
}

// spoiled has the ways in which an owner can make the directory unreadable.
var spoiled = []struct {
	name, why string
	do, undo  func(dir string) error
}{
	{"open to all", "writable by group or others (mode 0777)",
		func(dir string) error { return os.Chmod(dir, 0o777) }, func(dir string) error { return os.Chmod(dir, 0o755) }},
	{"too many files", "has more than 4096 files *.toml", func(dir string) error { return fill(dir, "%d.toml", maxPeers+1) },
		func(dir string) error { return empty(dir, "%d.toml", maxPeers+1) }},
	{"too many names", "has more than 12288 files of any name", func(dir string) error { return fill(dir, ".%d", maxEntries+1) },
		func(dir string) error { return empty(dir, ".%d", maxEntries+1) }},
	{"too many bytes", "has files of more than 16 MiB", func(dir string) error { return blow(dir, 257) },
		func(dir string) error { return empty(dir, "%d.toml", 257) }},
	{"gone", "no such file or directory", func(dir string) error { return os.Rename(dir, dir+".x") },
		func(dir string) error { return os.Rename(dir+".x", dir) }},
	{"a link", "is a link, which does not belong to root",
		func(dir string) error {
			return errors.Join(os.Rename(dir, dir+".x"), os.Symlink(dir+".x", dir), os.Lchown(dir, guestUser, guestUser))
		},
		func(dir string) error { return errors.Join(os.Remove(dir), os.Rename(dir+".x", dir)) }},
	{"a file", "not a directory", func(dir string) error { return errors.Join(os.Rename(dir, dir+".x"), os.WriteFile(dir, nil, 0o644)) },
		func(dir string) error { return errors.Join(os.Remove(dir), os.Rename(dir+".x", dir)) }},
}

func fill(dir, name string, n int) error {
	first := filepath.Join(dir, fmt.Sprintf(name, 0))
	return errors.Join(os.Symlink("x", first), repeat(first, dir, name, n))
}

// repeat gives a file n-1 further names. On a disk, a new name takes a twentieth of the time of a
// new file.
func repeat(first, dir, name string, n int) (err error) {
	for i := 1; i < n; i++ {
		err = errors.Join(err, os.Link(first, filepath.Join(dir, fmt.Sprintf(name, i))))
	}
	return err
}

func empty(dir, name string, n int) (err error) {
	for i := range n {
		err = errors.Join(err, os.Remove(filepath.Join(dir, fmt.Sprintf(name, i))))
	}
	return err
}

// blow creates n sparse files of the largest size that is read.
func blow(dir string, n int) (err error) {
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("%d.toml", i))
		err = errors.Join(err, os.WriteFile(file, nil, 0o644), os.Truncate(file, maxDropIn))
	}
	return err
}

// An unreadable directory of another owner does not make With fail. Its peers stay as they were, or
// are left out at the start, with one fault. Peers that contradict a changed configuration are
// removed. The peer of root's own file is removed when root removes the file.
func TestOwnersDirectoryThatCannotBeRead(t *testing.T) {
	for _, c := range spoiled {
		base := guestDir(t, map[string]string{"a.toml": "[[peer]]\nname = 'a'\npublic_key = '$1'\nallowed_ips = '10.1.2.0/24'\n", "b.toml": "[[peer]]\nname = 'b'\npublic_key = '$2'\n"})
		roots := filepath.Join(base.PeersDir, "r.toml")
		must(t, os.WriteFile(roots, []byte(withKeys("[[peer]]\nname = 'r'\npublic_key = '$3'\n")), 0o644))
		var d, late DropIns
		look := func(d *DropIns, c *Config) (names []string, faults []error) {
			t.Helper()
			got, faults, err := d.With(c, nil)
			must(t, err)
			for _, p := range got.Peers {
				names = append(names, p.Name)
			}
			return names, faults
		}
		if names, faults := look(&d, base); !slices.Equal(names, []string{"r", "a", "b"}) || len(faults) != 0 {
			t.Fatalf("%q, %v", names, faults)
		}
		must(t, c.do(base.PeersDir))
		if names, faults := look(&d, base); !slices.Equal(names, []string{"r", "a", "b"}) || len(faults) != 1 || faults[0].Error() != base.PeersDir+": "+c.why+": its peers stay as they were" {
			t.Errorf("%s: %q, %v", c.name, names, faults)
		}
		if names, faults := look(&late, base); len(names) != 0 || len(faults) != 1 || faults[0].Error() != base.PeersDir+": "+c.why+": its peers are left out" {
			t.Errorf("%s at the start: %q, %v", c.name, names, faults)
		}
		if _, err := CheckDropIns(base); err == nil || !strings.Contains(err.Error(), ": peers.dir: "+base.PeersDir+": "+c.why) {
			t.Errorf("%s: check says %v", c.name, err)
		}
		changed := *base
		changed.Peers = []Peer{{Name: "main", PublicKey: Key{9: 1}, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}}}
		if names, faults := look(&d, &changed); !slices.Equal(names, []string{"main", "r", "b"}) || len(faults) != 2 || !strings.Contains(faults[1].Error(), "a.toml:4: peer.allowed_ips: 10.1.2.0/24 would take traffic") {
			t.Errorf("%s, with another configuration: %q, %v", c.name, names, faults)
		}
		if _, err := os.Lstat(roots); err == nil {
			must(t, os.Remove(roots))
			// If root removes its own file, the peer of that file is removed, and the owner's peers
			// are kept.
			if names, _ := look(&d, base); !slices.Equal(names, []string{"a", "b"}) {
				t.Errorf("%s, root's file is removed: %q", c.name, names)
			}
			must(t, os.WriteFile(roots, []byte(withKeys("[[peer]]\nname = 'r'\npublic_key = '$3'\n")), 0o644))
		}
		must(t, c.undo(base.PeersDir))
		for _, d := range []*DropIns{&d, &late} {
			if names, faults := look(d, base); !slices.Equal(names, []string{"r", "a", "b"}) || len(faults) != 0 {
				t.Errorf("%s, mended: %q, %v", c.name, names, faults)
			}
		}
	}
}

// The number of prefixes, and of peers at one address, is bounded over all files of the owner. The
// first ones are accepted.
func TestGuestsAreBounded(t *testing.T) {
	files := map[string]string{}
	many := func(n int) string { // n prefixes of a separate network
		var v []string
		for i := range 2000 {
			v = append(v, fmt.Sprintf("'fd07:%x:%x::/48'", n, i))
		}
		return "allowed_ips = [" + strings.Join(v, ",") + "]\n"
	}
	for i := range 34 {
		files[fmt.Sprintf("a%02d.toml", i)] = "[[peer]]\npublic_key = '" + Key{1: byte(i), 9: 1}.String() + "'\n" + many(i)
	}
	for i := range maxGuestsAtAddress + 2 {
		files[fmt.Sprintf("b%02d.toml", i)] = "[[peer]]\npublic_key = '" + Key{1: byte(i), 9: 2}.String() + "'\n" +
			fmt.Sprintf("endpoints = ['203.0.113.9:%d', '203.0.113.9:%d']\n", 1000+2*i, 1001+2*i)
	}
	d := DropIns{Around: func() Around { return Around{} }}
	got, faults, err := d.With(guestDir(t, files), nil)
	if err != nil || len(got.Peers) != 32+maxGuestsAtAddress || len(faults) != 4 ||
		!strings.Contains(faults[0].Error(), "a32.toml:3: peer.allowed_ips: the files of this directory have more than 65536 prefixes") ||
		!strings.Contains(faults[2].Error(), "b64.toml:3: peer.endpoints: 64 peers have an endpoint at 203.0.113.9 already, and more are not allowed") {
		t.Errorf("%d peers, %v, %v", len(got.Peers), errors.Join(faults...), err)
	}
}

// The fault about too many peers is a readable sentence.
func TestTableFullOfPeers(t *testing.T) {
	c := guestDir(t, map[string]string{"a.toml": "[[peer]]\npublic_key = '$1'\n"})
	for i := range maxPeers {
		c.Peers = append(c.Peers, Peer{PublicKey: Key{1: byte(i), 2: byte(i >> 8), 9: 1}})
	}
	_, faults, err := WithDropIns(c)
	if want := c.PeersDir + "/a.toml:1: peer: there are 4096 peers already, and more are not allowed"; err != nil || len(faults) != 1 || faults[0].Error() != want {
		t.Errorf("%v, %v\nwant %s", faults, err, want)
	}
}

// The owner's files may have the largest size, and contents that are expensive for decoders. Each
// is refused with one fault, and no memory remains in use.
func TestHostileFilesTakeLittle(t *testing.T) {
	long := func(s string, rest string) string { return strings.Repeat(s, (maxDropIn-64-len(rest))/len(s)) + rest }
	c := guestDir(t, map[string]string{
		"a.toml": "a = " + long("[", ""),
		"b.toml": "a = " + long("{a=", ""),
		"c.toml": long("a.", "a = 1"),
		"d.toml": long("[a]\n", ""),
		"e.toml": "name = '" + long("x", "'"),
		"f.toml": long("# x", ""),
		"g.toml": "[[peer]]\npublic_key = '$1'\nallowed_ips = [" + long("'x',", "]"),
		"h.toml": long("[[peer]]\n", ""),
		"i.toml": long("a.a.a.a.a.a.a.a.a.a.a.a=1\n", ""),
		"j.toml": "\x00\xff",
	})
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	var d DropIns
	before := heap()
	for range 3 {
		got, faults, err := d.With(c, nil)
		if err != nil || len(got.Peers) != 0 || len(faults) != 10 {
			t.Fatalf("%d faults %v, %v", len(faults), errors.Join(faults...), err)
		}
		for _, f := range faults {
			if s := f.Error(); len(s) > 400 || strings.Contains(s, "\n") {
				t.Errorf("%.500q", s)
			}
		}
	}
	if after := heap(); after > before+1<<20 {
		t.Errorf("%d bytes stay", after-before)
	}
	runtime.KeepAlive(&d)
}

// Between listing and reading, the owner replaces a file of root's by his own. It does not get the
// precedence of root's files.
func TestFileInPlaceOfRootsComesNotFirst(t *testing.T) {
	c := guestDir(t, map[string]string{"evil": "[[peer]]\npublic_key = '$1'\nallowed_ips = '10.0.0.2'\n"})
	at := filepath.Join(c.PeersDir, "a.toml")
	must(t, os.WriteFile(at, []byte(withKeys("[[peer]]\npublic_key = '$2'\n")), 0o644))
	dir, err := openPeerDir(c.PeersDir, guestUser)
	must(t, err)
	defer dir.close()
	var d DropIns
	_, files, err := d.scan(c.PeersDir, guestUser, nil)
	if err != nil || len(files) != 1 || !files[0].ofRoot() {
		t.Fatal(files, err)
	}
	must(t, os.Rename(filepath.Join(c.PeersDir, "evil"), at))
	dir.left = maxDropIns
	if p, _, err := d.readFile(dir, files[0]); err == nil || !p.Guest || !strings.Contains(err.Error(), "has replaced root's file") {
		t.Errorf("%+v, %v", p, err)
	}
	// A fault of the file that he puts there does not count as a fault of root's file either,
	// because that would prevent a start.
	for _, put := range []func() error{
		func() error { return os.Symlink("/etc/shadow", at) },
		func() error { return os.Mkdir(at, 0o755) },
		func() error { return os.WriteFile(at, make([]byte, maxDropIn+1), 0o644) },
	} {
		must(t, errors.Join(os.Remove(at), put()))
		give(t, at)
		if p, _, err := d.readFile(dir, files[0]); err == nil || !p.Guest {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// A file that disappears during the reading is not a fault. It counts as removed.
func TestFileThatGoesWhileReadIsNoFault(t *testing.T) {
	c := guestDir(t, map[string]string{"a.toml": "[[peer]]\npublic_key = '$1'\n", "b.toml": "[[peer]]\npublic_key = '$2'\n"})
	dir, err := openPeerDir(c.PeersDir, guestUser)
	must(t, err)
	defer dir.close()
	var d DropIns
	_, files, err := d.scan(c.PeersDir, guestUser, nil)
	if err != nil || len(files) != 2 {
		t.Fatal(files, err)
	}
	must(t, os.Remove(files[0].file))
	dir.left = maxDropIns
	if _, _, err := d.readFile(dir, files[0]); err != errGone {
		t.Errorf("%v", err)
	}
	// If a file grows after the listing, it is read only up to the limit of the directory.
	dir.left = 10
	if _, _, err := d.readFile(dir, files[1]); err == nil || !strings.Contains(err.Error(), "has more than 10 bytes") {
		t.Errorf("%v", err)
	}
}
