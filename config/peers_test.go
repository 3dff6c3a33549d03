package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An added peer replaces a peer with the same key. Keys that it leaves out get the defaults of the
// configuration.
func TestWithPeers(t *testing.T) {
	c := parsed(t, mainPart+"[paths]\npolicy = 'plb'\n[[peer]]\nname = 'a'\npublic_key = '$1'\nallowed_ips = '10.1.0.0/16'\n")
	peers, err := ParsePeers("more.toml", []byte(withKeys("[[peer]]\npublic_key = '$1'\nallowed_ips = '10.2.0.0/16'\n[[peer]]\nname = 'b'\npublic_key = '$2'\npolicy = 'ecmp'\n")))
	must(t, err)
	again, err := ParsePeers("more.toml", FormatPeers(peers))
	if err != nil || len(again) != 2 || !SamePeer(&again[0], &peers[0]) || !SamePeer(&again[1], &peers[1]) {
		t.Errorf("%+v, %v\n%s", again, err, FormatPeers(peers))
	}
	got, err := WithPeers(c, peers)
	must(t, err)
	if p := got.Peers; len(p) != 2 || p[0].AllowedIPs[0].String() != "10.2.0.0/16" || p[0].Policy != "plb" || p[1].Policy != "ecmp" || c.Peers[0].Name != "a" {
		t.Errorf("peers %+v", p)
	}
	// The error has no line number, because the user never sees the text.
	want := "peer.allowed_ips: 10.1.0.0/16 belongs to peer a already"
	peers[1].AllowedIPs = c.Peers[0].AllowedIPs
	if _, err := WithPeers(c, peers[1:]); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	want = `peer.name: "a" names peer a already`
	peers[1].AllowedIPs, peers[1].Name = nil, "a"
	if _, err := WithPeers(c, peers[1:]); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	peers[1].Name = "b"
	both, err := WithPeers(c, peers[1:])
	must(t, err)
	want = "peer.allowed_ips: 10.1.0.0/16 belongs to peer a already"
	if _, err := With(both, []Setting{{Key: "peer.b.allowed_ips", Value: "10.1.0.0/16"}}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The service manager passes a copy of the file that was made at the start of the service.
func TestReread(t *testing.T) {
	dir := t.TempDir()
	file, copied := filepath.Join(dir, "s.toml"), filepath.Join(dir, "copy.toml")
	for _, f := range []string{file, copied} {
		must(t, os.WriteFile(f, []byte(withKeys(mainPart)), 0o600))
	}
	c, err := Load(file)
	must(t, err)
	if again, err := c.Reread(); err != nil || len(Diff(c, again)) > 0 {
		t.Errorf("%+v, %v", again, err)
	}
	if c, err = LoadCopy(file, copied); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Reread(); err == nil || !strings.Contains(err.Error(), "systemctl reload") {
		t.Error(err)
	}
}
