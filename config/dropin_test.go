package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
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
