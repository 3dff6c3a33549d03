package config

import (
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
)

// dropDir is a directory of drop-in files, by name.
func dropDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(withKeys(text)), 0o600); err != nil {
			t.Fatal(err)
		}
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
		"9.toml":     "[[peer]]\npublic_key = '$2'\npreshared_key = '$psk'\npolicy = 'plb'\n",
		".a.toml":    "nonsense",
		"b.toml.bak": "nonsense",
	})
	if err := os.Mkdir(filepath.Join(dir, "c.toml"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "d.toml"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := parsed(t, mainPart+"[peers]\ndir = '"+dir+"'\n")
	c.Peers = []Peer{{PublicKey: key(t, wgPairs[3].public), File: "/gone/before.toml"}}
	got, faults, err := WithDropIns(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Peers) != 2 || got.Peers[0].Name != "one" || got.Peers[1].Policy != "plb" || got.Peers[1].File != dir+"/9.toml" {
		t.Errorf("peers %+v", got.Peers)
	}
	want := []string{
		`2.toml:2: peer.name: "one" names another peer already, in ` + dir + "/1.toml",
		`3.toml:3: peer.allowed_ips: 10.0.0.2/32 belongs to another peer already, in ` + dir + "/1.toml",
		`4.toml:2: peer.public_key: belongs to another peer already, in ` + dir + "/1.toml",
		`5.toml:3: peer: more than 1 of them`,
		`6.toml:1: interface: has no place in a drop-in file, which has one [[peer]]`,
		`7.toml: has no [[peer]]`,
		`8.toml:1: peer.public_key: is missing`,
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

// Nobody else may have a peer let in, or read a secret.
func TestDropInsOfOthers(t *testing.T) {
	peer := "[[peer]]\npublic_key = '$1'\n"
	dir := dropDir(t, map[string]string{"a.toml": peer, "b.toml": peer, "c.toml": peer + "preshared_key = '$psk'\n"})
	c := parsed(t, mainPart+"[peers]\ndir = '"+dir+"'\n")
	change := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
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

// TestDropInsAgain: files are read again when they have changed, and only then; what is said
// is the same as of who reads all of them.
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
		// As if all were read long after they were written: time stamps are to be trusted.
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
		if err := os.WriteFile(filepath.Join(dir, name), []byte(withKeys(text)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look("1.toml", "2.toml")
	look()
	write("2.toml", "[[peer]]\nname = 'two'\npublic_key = '$2'\nallowed_ips = '10.0.0.4'\n")
	look("2.toml")
	write("0.toml", "[[peer]]\nname = 'zero'\npublic_key = '"+wgPairs[3].public+"'\nallowed_ips = '10.0.0.2'\n") // has what 1 has
	look("0.toml")
	if err := os.Remove(filepath.Join(dir, "0.toml")); err != nil {
		t.Fatal(err)
	}
	look("1.toml")
	if err := os.Chmod(filepath.Join(dir, "2.toml"), 0o666); err != nil {
		t.Fatal(err)
	}
	look()
	c.Paths.Policy = "plb"
	look("1.toml")

	// Who knows which files have changed has only those looked at.
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

// TestAlikeSeesAllKeys: a key of a peer that is added is compared, or this fails.
func TestAlikeSeesAllKeys(t *testing.T) {
	if n := reflect.TypeFor[Peer]().NumField(); n != 8 {
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

// TestPeersFit agrees with the whole check about peers that contradict each other or the rest.
func TestPeersFit(t *testing.T) {
	c := parsed(t, mainPart)
	one := Peer{Name: "one", PublicKey: Key{9: 1}, AllowedIPs: []netip.Prefix{netip.MustParsePrefix("10.200.0.1/32")}, Policy: c.Paths.Policy}
	own, err := c.Interface.PrivateKey.Public()
	if err != nil {
		t.Fatal(err)
	}
	for i, do := range []func(p *Peer){
		func(p *Peer) {},
		func(p *Peer) { p.Name = "one" },
		func(p *Peer) { p.PublicKey = one.PublicKey },
		func(p *Peer) { p.PublicKey = own },
		func(p *Peer) { p.PublicKey = lowOrder[2] },
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

// Whoever checks what a daemon with a user of its own will read takes that user's files for
// right, and nobody else's.
func TestCheckDropInsOfAnotherUser(t *testing.T) {
	c := parsed(t, mainPart)
	c.PeersDir = dropDir(t, map[string]string{"a.toml": "[[peer]]\npublic_key = '$1'\n"})
	uid := os.Geteuid()
	if uid == 0 { // nobody else gives files away; root's own always count
		uid = 65534
		for _, file := range []string{"", "a.toml"} {
			if err := os.Chown(filepath.Join(c.PeersDir, file), uid, -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	if all, err := CheckDropIns(c); err != nil || len(all.Peers) != 1 {
		t.Errorf("%v", err)
	}
	other := DropIns{owner: uid + 1}
	if _, _, err := other.With(c, nil); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("belongs to user %d", uid)) {
		t.Errorf("%v", err)
	}
}
