package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// unclamped returns a different private key with the same public key, because it is not clamped.
func unclamped(t *testing.T, private string) string {
	t.Helper()
	s, err := ParseSecret(private)
	must(t, err)
	raw := s.Bytes()
	raw[0] ^= 1
	return Key(raw).String()
}

// A key in the place of another role is refused, and the message does not contain it. This is so in
// the file, in a drop-in file, for an added peer, and for `srdtun set`.
func TestEachKeyHasOneRole(t *testing.T) {
	private, own, a, b := wgPairs[0].private, wgPairs[0].public, wgPairs[1].public, wgPairs[2].public
	psk, free := wgPairs[3].private, wgPairs[3].public
	peer := func(public, shared string) string {
		return "[[peer]]\npublic_key = \"" + public + "\"\n" + "preshared_key = \"" + shared + "\"\n"
	}
	for name, c := range map[string]struct {
		first, second [2]string // public and preshared key
		key           string
	}{
		"private key as psk":             {[2]string{a, psk}, [2]string{b, private}, "preshared_key"},
		"private key, unclamped, as psk": {[2]string{a, psk}, [2]string{b, unclamped(t, private)}, "preshared_key"},
		"own public key as psk":          {[2]string{a, psk}, [2]string{b, own}, "preshared_key"},
		"the peer's public key as psk":   {[2]string{a, psk}, [2]string{b, b}, "preshared_key"},
		"another's public key as psk":    {[2]string{a, psk}, [2]string{b, a}, "preshared_key"},
		"private key as public key":      {[2]string{a, psk}, [2]string{private, psk}, "public_key"},
		"own public key as public key":   {[2]string{a, psk}, [2]string{own, psk}, "public_key"},
		"another's psk as public key":    {[2]string{a, free}, [2]string{free, psk}, "public_key"},
	} {
		head := "[interface]\nprivate_key = \"" + private + "\"\n"
		refuse := func(how string, err error) {
			t.Helper()
			if err == nil || !strings.Contains(err.Error(), c.key+": is ") && !strings.Contains(err.Error(), "key: is ") {
				t.Errorf("%s, %s: %v", name, how, err)
			} else if strings.Contains(err.Error(), "=") || strings.Contains(err.Error(), private[:8]) {
				t.Errorf("%s, %s: the key is repeated: %v", name, how, err)
			}
		}
		_, err := Parse("x.toml", []byte(head+peer(c.first[0], c.first[1])+peer(c.second[0], c.second[1])))
		refuse("in the file", err)
		_, err = Parse("x.toml", []byte(head+peer(c.second[0], c.second[1])+peer(c.first[0], c.first[1])))
		refuse("in the file, in the other order", err)

		sound, err := Parse("x.toml", []byte(head+peer(c.first[0], c.first[1])))
		must(t, err)
		added, err := ParsePeers("y.toml", []byte(peer(c.second[0], c.second[1])))
		must(t, err)
		_, err = WithPeers(sound, added)
		refuse("added", err)
		if c.key == "preshared_key" && c.second[1] != b {
			_, err = With(sound, []Setting{{"peer." + c.first[0] + ".preshared_key", c.second[1]}})
			refuse("set", err)
		}
		dir := t.TempDir()
		for file, text := range map[string]string{"a.toml": peer(c.first[0], c.first[1]), "b.toml": peer(c.second[0], c.second[1])} {
			must(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600))
		}
		with, err := Parse("x.toml", []byte(head+"[peers]\ndir = \""+dir+"\"\n"))
		must(t, err)
		_, err = CheckDropIns(with)
		refuse("in a drop-in", err)
	}
	// It is common, and allowed, to use one preshared key for all peers.
	if _, err := Parse("x.toml", []byte("[interface]\nprivate_key = \""+private+"\"\n"+peer(a, psk)+peer(b, psk))); err != nil {
		t.Error(err)
	}
}
