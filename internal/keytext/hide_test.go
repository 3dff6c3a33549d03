package keytext

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// inGroups types a key in groups of n characters.
func inGroups(key string, n int, gap string) string {
	var parts []string
	for len(key) > n {
		parts, key = append(parts, key[:n]), key[n:]
	}
	return strings.Join(append(parts, key), gap)
}

// A drawn key is hidden in each way to type it, wherever it stands. A few characters at an end
// may stay.
func TestKeysAreHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var raw, seed [Bytes]byte // rapid itself prefers small numbers, of which no key is made
		binary.NativeEndian.PutUint64(seed[:], rapid.Uint64().Draw(t, "seed"))
		rand.NewChaCha8(seed).Read(raw[:])
		base, digits := Format(raw), hex.EncodeToString(raw[:])
		key := rapid.SampledFrom([]string{base, base[:43], base[1:], base[:40], digits, strings.ToUpper(digits), strings.NewReplacer("+", "-", "/", "_").Replace(base)}).Draw(t, "form")
		if n := rapid.SampledFrom([]int{0, 0, 1, 2, 3, 4, 8, 10, 11, 16, 22}).Draw(t, "groups"); n > 0 && !strings.ContainsAny(key, "-_") {
			key = inGroups(key, n, rapid.SampledFrom([]string{" ", "-", "  ", "_", ".", ", ", ":"}).Draw(t, "gap"))
		}
		around := rapid.SampledFrom([]string{"%s", "no peer is named %q", "peer.%s.policy", "/etc/srdtun/%s.toml", "%s=1", "unknown flag: --%s; see --help", "the peer of %s went", "./%s"}).Draw(t, "around")
		got := Hide(fmt.Sprintf(around, key), nil)
		const most = 16
		for i := range len(key) - most {
			if strings.Contains(got, key[i:i+most]) {
				t.Fatalf("%q became %q", fmt.Sprintf(around, key), got)
			}
		}
	})
}

// Ordinary texts stay as they are.
func TestOrdinaryTextsStay(t *testing.T) {
	for _, text := range []string{
		"", "/home/anton/projects/tunnels/production/configurations/lab.toml: no such file or directory",
		"/tmp/TestUpWarnsOfRefusedDropIns1234567/001/peers/far.toml:3: peer.allowed_ips: 10.80.0.1/32 has this end's own address",
		"a-long-name-of-a-peer-that-a-person-has-chosen-for-his-laptop", "srdtun_metrics_exporter_production_cluster_node01",
		"eth0 eth1 eth2 eth3 eth4 eth5 eth6 eth7 wwan0", "node0001 node0002 node0003 node0004 node0005",
		"fd12:3456:789a:bcde:fd12:3456:789a:bcde dev eth0", "link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff", "1234 5678 9012 3456 7890 1234 5678 9012 3456",
		"AllowedIPs ListenPort PresharedKey PersistentKeepalive PrivateKey", "unknown section; the nearest known is [interface]",
		"Linux host 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01) x86_64 GNU/Linux",
		"expires = \"2026-12-01T00:00:00Z\" -> \"2027-12-01T00:00:00.123456789Z\"", "srdtun 0.0.0~git20261128.073320.9a96a77 go1.26.0 linux/amd64",
		"that this file does not have what they said when some more came from here", "paths.flowlet_timeout, persistent_keepalive, preshared_key_file",
	} {
		if got := Hide(text, nil); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A public key stays where it stands whole, and no part of another text passes as one.
func TestPublicKeysStay(t *testing.T) {
	const key, other = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=", "oD1r4LpO1DCso8wyo3uhFx/dZW5TY3VxK7QRfwNYDHY="
	public := func(k string) bool { return k == key }
	for text, want := range map[string]string{
		"peer " + key + " went":            "peer " + key + " went",
		key + " " + other + " " + key:      key + " (hidden) " + key,
		"peer." + key + ".policy":          "peer." + key + ".policy",
		key + other:                        key + "(hidden)",
		"{ " + key + ", allowed_ips 10.0.": "{ " + key + ", allowed_ips 10.0.",
	} {
		if got := Hide(text, public); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func FuzzHide(f *testing.F) {
	f.Add("peer oD1r4LpO 1DCso8wy o3uhFx/d ZW5TY3Vx K7QRfwNY DHY= went")
	f.Fuzz(func(t *testing.T, text string) {
		if once := Hide(text, nil); len(once) > len(text) && len(text) < leastDrawn {
			t.Errorf("%q became %q", text, once)
		}
	})
}

// A part of a key of 27 characters or more is hidden, nearly always: some look like words.
func TestPartsOfKeysAreHidden(t *testing.T) {
	draw := rand.New(rand.NewChaCha8([32]byte{1}))
	shown, all := 0, 0
	for range 2000 {
		var raw [Bytes]byte
		for i := range raw {
			raw[i] = byte(draw.Uint32())
		}
		n := 27 + draw.IntN(10)
		at := draw.IntN(43 - n)
		part := Format(raw)[at : at+n]
		if all++; strings.Contains(Hide("no key at line 3: "+part+" (5 bytes)", nil), part) {
			shown++
		}
	}
	if 50*shown > all {
		t.Errorf("%d of %d parts are shown", shown, all)
	}
}
