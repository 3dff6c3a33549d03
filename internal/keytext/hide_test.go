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

// inGroups returns a key in groups of n characters, with `gap` between them.
func inGroups(key string, n int, gap string) string {
	var parts []string
	for len(key) > n {
		parts, key = append(parts, key[:n]), key[n:]
	}
	return strings.Join(append(parts, key), gap)
}

// These lists have encodings of a key, lengths of groups, separators, and texts around a key.
var (
	forms = func(raw [Bytes]byte) []string {
		base, digits := Format(raw), hex.EncodeToString(raw[:])
		return []string{base, base[:43], base[1:], base[:40], digits, strings.ToUpper(digits), strings.NewReplacer("+", "-", "/", "_").Replace(base)}
	}
	lengths    = []int{0, 1, 2, 3, 4, 8, 10, 11, 16, 22}
	separators = []string{" ", "-", "  ", "_", ".", ", ", ":", "\u200b", "\u00a0", "?", "*", `\u200b`}
	arounds    = []string{"%s", "no peer is named %q", "peer.%s.policy", "/etc/srdtun/%s.toml", "%s=1", "unknown flag: --%s; see --help", "the peer of %s went", "./%s"}
)

// drawnFrom returns a random key for a seed. Bytes that rapid draws itself are mostly small
// numbers, unlike those of a key.
func drawnFrom(seed uint64) (raw [Bytes]byte) {
	var all [Bytes]byte
	binary.NativeEndian.PutUint64(all[:], seed)
	rand.NewChaCha8(all).Read(raw[:])
	return raw
}

// shows reports whether a text contains a piece of a key. A few characters at either end do not
// count.
func shows(text, key string) bool {
	for i := range len(key) - LeastPiece {
		if strings.Contains(text, key[i:i+LeastPiece]) {
			return true
		}
	}
	return false
}

// A random key is hidden in each form, wherever it is in a text. By chance, one of some thousands
// of keys looks like words: TestFewKeysAreShown counts those.
func TestKeysAreHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom(forms(drawnFrom(rapid.Uint64().Draw(t, "seed")))).Draw(t, "form")
		if strings.ContainsAny(key, "GHIJ") && !mixed(key, 5) { // base64
			t.Skip()
		}
		if n := rapid.SampledFrom(append([]int{0}, lengths...)).Draw(t, "groups"); n > 0 && !strings.ContainsAny(key, "-_") {
			key = inGroups(key, n, rapid.SampledFrom(separators).Draw(t, "gap"))
			for _, g := range groupsOf(key) {
				if n >= LeastPiece && !g.drawn {
					t.Skip()
				}
			}
		}
		text := fmt.Sprintf(rapid.SampledFrom(arounds).Draw(t, "around"), key)
		if got := Hide(text, nil); shows(got, key) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// In each form, only few keys are shown because too many of their groups look like words.
func TestFewKeysAreShown(t *testing.T) {
	shown, all := 0, 0
	for seed := range uint64(16) {
		for _, form := range forms(drawnFrom(seed)) {
			for _, n := range lengths {
				for _, gap := range separators {
					key := form
					if n > 0 && !strings.ContainsAny(key, "-_") {
						key = inGroups(key, n, gap)
					}
					for _, around := range arounds {
						if all++; shows(Hide(fmt.Sprintf(around, key), nil), key) {
							shown++
						}
					}
				}
			}
		}
	}
	if 5_000*shown > all {
		t.Errorf("%d of %d texts show a key", shown, all)
	}
}

// A key is hidden as a list of its bytes, as programs print arrays: in decimal, signed or
// unsigned, with any separator.
func TestBytesInDecimalAreHidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		raw := drawnFrom(rapid.Uint64().Draw(t, "seed"))
		format := rapid.SampledFrom([]string{"%d", "%03d", "%3d", "signed"}).Draw(t, "format")
		var all []string
		for _, b := range raw {
			if format == "signed" {
				all = append(all, fmt.Sprint(int8(b)))
			} else {
				all = append(all, fmt.Sprintf(format, b))
			}
		}
		if n := rapid.IntRange(leastBytes, len(all)).Draw(t, "bytes"); n < len(all) { // the others were lost
			all = all[:n]
		}
		key := strings.Join(all, rapid.SampledFrom([]string{", ", ",", " ", ":", ".", ";", "-", `", "`, `','`, "\t", "_"}).Draw(t, "gap"))
		text := fmt.Sprintf(rapid.SampledFrom(append(arounds, "want a list: [%s]", "{%s}")).Draw(t, "around"), key)
		if got := Hide(text, nil); shows(got, key) {
			t.Fatalf("%q became %q", text, got)
		}
	})
}

// A key in groups is hidden completely, although its first and last groups look like words.
func TestGroupsLikeWordsAreHidden(t *testing.T) {
	for text, want := range map[string]string{
		"b82-738-be6-924-d09-f82-1ab-692-0c4-d1e-5f7-a90-3b2-643-0":                                   "(hidden)-0",
		"UKU_Enk_hh8_HU0_UIG_3xq_Za1_0Bc_dE4_kL9_mN2":                                                 "(hidden)",
		"1148-0350-d684-2556-9030-a3f1-0b22-9c1e-3528":                                                "(hidden)",
		"peer.3dab a049 f8e3 9282 35ba d094 8067 7116 4e8c 1399 3774 0649 eaeb 9131 6336 3838.policy": "peer.(hidden).policy",
		"/etc/srdtun/angixVZySbAhXcsz.hp3Gm7Oxx0ua89IC.YOZPrG7L.toml":                                 "/etc/srdtun/(hidden).toml",
		"3b0X:Tw/U:nd/5:FZf+:WZNL:cdd6:Soqp:qksd:hnNc:tXzw":                                           "(hidden)",
	} {
		if got := Hide(text, nil); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

// Ordinary texts are not changed.
func TestOrdinaryTextsStay(t *testing.T) {
	for _, text := range []string{
		"", "/home/anton/projects/tunnels/production/configurations/lab.toml: no such file or directory",
		"/tmp/TestUpWarnsOfRefusedDropIns1234567/001/peers/far.toml:3: peer.allowed_ips: 10.80.0.1/32 has this end's own address",
		"a-long-name-of-a-peer-that-a-person-has-chosen-for-his-laptop", "srdtun_metrics_exporter_production_cluster_node01",
		"eth0 eth1 eth2 eth3 eth4 eth5 eth6 eth7 wwan0", "node0001 node0002 node0003 node0004 node0005",
		"fd12:3456:789a:bcde:fd12:3456:789a:bcde dev eth0", "link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff", "1234 5678 9012 3456 7890 1234 5678 9012 3456",
		"cpu affinity 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23", "10.80.0.1, 10.80.0.2, 10.80.0.3, 10.80.0.4, 10.80.0.5, 10.80.0.6",
		"0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", "192.0.2.7/32, 192.0.2.8/32, 192.0.2.9/32, 192.0.2.10/32, 192.0.2.11/32",
		"AllowedIPs ListenPort PresharedKey PersistentKeepalive PrivateKey", "unknown section; the nearest known is [interface]",
		"Linux host 6.1.0-18-amd64 #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1 (2024-02-01) x86_64 GNU/Linux",
		"expires = \"2026-12-01T00:00:00Z\" -> \"2027-12-01T00:00:00.123456789Z\"", "srdtun 0.0.0~git20261128.073320.9a96a77 go1.26.0 linux/amd64",
		"--- FAIL: TestUsersDoNotComeAndGo (0.55s) TestTunnelInDeepBuffers|TestRootGivesWayToRoot", "/tmp/TestNamesAreLookedUpAtOnce/up/ToIt",
		"that this file does not have what they said when some more came from here", "paths.flowlet_timeout, persistent_keepalive, preshared_key_file",
	} {
		if got := Hide(text, nil); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// A complete public key is not hidden. A part of another text does not count as one.
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

// A part of a key with 27 characters or more is nearly always hidden. Exceptions are parts that
// look like words.
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
