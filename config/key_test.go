package config

import (
	"bytes"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/internal/keytext"
)

// wgPairs are private keys, with the public keys that `wg pubkey` of wireguard-tools prints for
// them. The last three private keys are not clamped.
var wgPairs = []struct{ private, public string }{
	{"mEPwuDctPraZMuIwH6mC0oaasrbFEEOM1nxDJsqSN1I=", "SQwUzzyQ5HZ2U6nZDllkgrAIn0/7NBldIx2kFz3J1kA="},
	{"oNuAOweTlKWCQmMmmZhfflH6jtFEOn5y1RvtwoYGX1Y=", "+jx2JIAWlwMonML838aITcfc0Ff/m/EzKXaP65i7LgU="},
	{"sFviXohxV61CGW2d2MOM7611yQcD1HG2mQQjJGS6hX0=", "rlkVLYLpFcRX2tzTB8VO/GxfwwRt445pxZfGIqAsdAg="},
	{"//////////////////////////////////////////8=", "hHwNLDdSNPNl5mCVUYejc1oPdhPRYJ06ak2MU66qWiI="},
	{"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=", "pOCSkrZRwni5dyxWn1+puxPZBrRqtoyd+dwrRAn4ogk="},
	{"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", "L+V9o0fNYkMVKNqsX7spBzD/9oSvxM/C7ZCZX1jLO3Q="},
}

func TestPublicIsThatOfWg(t *testing.T) {
	for _, pair := range wgPairs {
		private, err := ParseSecret(pair.private)
		if err != nil {
			t.Fatalf("%s: %v", pair.private, err)
		}
		if got := private.Reveal(); got != pair.private {
			t.Errorf("Reveal() = %s, want %s", got, pair.private)
		}
		public, err := private.Public()
		if err != nil || public.String() != pair.public {
			t.Errorf("Public() of %s = %v, %v; want %s", pair.private, public, err, pair.public)
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	good := wgPairs[0].public
	for _, bad := range []string{
		"", "=", good[:43], good + "=", good + "\n", " " + good[1:], good[:43] + "A",
		strings.Repeat("A", 42) + "\n=", strings.Repeat("A", 40) + "\n\n\n=",
		strings.Repeat("A", 42) + "==", // 31 bytes
		strings.Repeat("A", 42) + "B=", // a bit set after the last byte
		strings.Repeat("-", 43) + "=",  // the URL-safe alphabet of base64
		"SQwUzzyQ5HZ2U6nZDllkgrAIn0/7NBldIx2kFz3J1k\x00=",
	} {
		if s, err := ParseSecret(bad); err == nil || !s.IsZero() {
			t.Errorf("ParseSecret(%q): %v, want an error", bad, err)
		}
		if k, err := ParseKey(bad); err == nil || !k.IsZero() {
			t.Errorf("ParseKey(%q) = %v, %v; want a zero key and an error", bad, k, err)
		} else if len(bad) > 40 && strings.Contains(err.Error(), bad[:20]) {
			t.Errorf("the error repeats the key: %v", err)
		}
	}
}

func TestKeyRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := Key(rapid.SliceOfN(rapid.Byte(), keyBytes, keyBytes).Draw(t, "key"))
		if s, err := ParseSecret(k.String()); err != nil || s.Bytes() != k {
			t.Fatalf("ParseSecret(%s) = %x, %v", k, s.Bytes(), err)
		}
		k[31] &= 0x3f // below p
		got, err := ParseKey(k.String())
		if err != nil || got != k {
			t.Fatalf("ParseKey(%s) = %v, %v", k, got, err)
		}
	})
}

// TestParseKeyTwin compares the parser with a model. The model decodes a text and encodes it again,
// and accepts it if the result is the same text.
func TestParseKeyTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(Key{1, 2, 3}.String())
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
			text[at] = rapid.SampledFrom([]byte("AB/+=-_ \n\x80")).Draw(t, "byte")
		}
		raw, err := base64.StdEncoding.DecodeString(string(text))
		want := err == nil && len(raw) == keyBytes && base64.StdEncoding.EncodeToString(raw) == string(text)
		if _, err := ParseSecret(string(text)); (err == nil) != want {
			t.Fatalf("ParseSecret(%q): %v, want accepted %v", text, err, want)
		}
	})
}

// TestOneSpellingOfAPublicKey compares ParseKey with computations on big numbers. It tries values
// around the prime p, at the limits of each byte, and with the top bit set. A value that a key
// exchange would reduce modulo p is refused.
func TestOneSpellingOfAPublicKey(t *testing.T) {
	p := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 255), big.NewInt(19))
	rapid.Check(t, func(t *rapid.T) {
		n := new(big.Int).Add(p, big.NewInt(rapid.Int64Range(-300, 18).Draw(t, "from p")))
		if at := rapid.IntRange(0, 255).Draw(t, "bit"); rapid.Bool().Draw(t, "flip") {
			n.SetBit(n, at, 1-n.Bit(at))
		}
		var k Key
		n.FillBytes(k[:])
		slices.Reverse(k[:])
		_, err := ParseKey(k.String())
		if want := n.Cmp(p) < 0; (err == nil) != want {
			t.Fatalf("ParseKey of %x: %v, want accepted %v", k, err, want)
		}
		if err != nil && strings.Contains(err.Error(), k.String()[:20]) {
			t.Fatalf("the error repeats the key: %v", err)
		}
	})
}

func TestGeneratePrivateIsClampedAndFresh(t *testing.T) {
	seen := map[[keyBytes]byte]bool{}
	for range 64 {
		s, err := GeneratePrivate()
		must(t, err)
		b := s.Bytes()
		if b[0]&7 != 0 || b[31]&0x80 != 0 || b[31]&0x40 == 0 {
			t.Fatalf("not clamped: %x", b)
		}
		if seen[b] {
			t.Fatal("the same key twice")
		}
		seen[b] = true
	}
}

func TestGeneratePresharedUsesAllBits(t *testing.T) {
	var some [keyBytes]byte
	for range 64 {
		s, err := GeneratePreshared()
		must(t, err)
		for i, b := range s.Bytes() {
			some[i] |= b
		}
	}
	if !bytes.Equal(some[:], bytes.Repeat([]byte{0xff}, keyBytes)) {
		t.Fatalf("bits that are never set: %x", some)
	}
}

func TestSecretIsHidden(t *testing.T) {
	raw := Key{150, 151, 152, 153, 154, 155}
	s := NewSecret(raw)
	holder := struct {
		Secret Secret
		Ptr    *Secret
		List   []Secret
		inner  Secret
	}{s, &s, []Secret{s}, s}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%08b", "%p", "%c"} {
		if got := fmt.Sprintf(verb, s); got != hidden && verb != "%p" {
			t.Errorf("%s prints %q", verb, got)
		}
		fmt.Fprintf(&out, verb, holder)
		fmt.Fprintf(&out, verb, &holder.Secret)
	}
	text, err := json.Marshal(map[string]any{"a": holder, "b": &s, "c": []Secret{s}})
	must(t, err)
	out.Write(text)
	out.WriteString(s.String() + s.GoString())
	for _, form := range []string{raw.String()[:8], fmt.Sprintf("%x", raw[:4]), fmt.Sprintf("%X", raw[:4]),
		fmt.Sprint(raw[0]) + " " + fmt.Sprint(raw[1]), fmt.Sprintf("0x%x, 0x%x", raw[0], raw[1]), string(raw[:4])} {
		if strings.Contains(out.String(), form) {
			t.Errorf("%q shows in %s", form, out.String())
		}
	}
}

func TestSecretEqual(t *testing.T) {
	a, b, other := NewSecret(Key{1}), NewSecret(Key{1}), NewSecret(Key{2})
	if !a.Equal(b) || a.Equal(other) || a.Equal(Secret{}) || !NewSecret(Key{}).Equal(Secret{}) {
		t.Error("Equal does not compare the bytes")
	}
	if a.IsZero() || !NewSecret(Key{}).IsZero() || (Secret{}).Bytes() != (Key{}) {
		t.Error("IsZero does not compare the bytes")
	}
	key := Key{1}
	kept := NewSecret(key)
	key[0] = 9
	if kept.Bytes() != (Key{1}) {
		t.Error("the secret shares its bytes with the caller")
	}
}

// TestUsableKeys compares the list of low-order points with the key exchange of crypto/ecdh, which
// fails if its result is zero.
func TestUsableKeys(t *testing.T) {
	private, err := ecdh.X25519().GenerateKey(rand.Reader)
	must(t, err)
	agrees := func(k Key) bool {
		public, err := ecdh.X25519().NewPublicKey(k[:])
		must(t, err)
		_, err = private.ECDH(public)
		return err == nil
	}
	public, _ := ParseKey(wgPairs[0].public)
	keys := []Key{public, {2}, {9}}
	for range 100 {
		var k Key
		if _, err := rand.Read(k[:]); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	for _, k := range keytext.LowOrder {
		keys = append(keys, k)
	}
	for _, k := range keys {
		if k.usable() != agrees(k) {
			t.Errorf("%x: usable %v, an exchange says %v", k, k.usable(), agrees(k))
		}
	}
	// All other encodings of points of small order are refused because they are not the only
	// spelling of the key.
	for low := range 256 {
		k := Key(keytext.LowOrder[len(keytext.LowOrder)-1])
		k[0] = byte(low)
		if _, err := ParseKey(k.String()); !agrees(k) && k.usable() && err == nil {
			t.Errorf("%x is taken, and an exchange fails", k)
		}
	}
	for _, k := range keytext.LowOrder {
		if agrees(k) {
			t.Errorf("%x is no point of small order", k)
		}
	}
}
