package handshake_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/srdtun/srdtun/srd/handshake"
)

func TestChoose(t *testing.T) {
	const (
		a256 = handshake.AES256GCM
		a128 = handshake.AES128GCM
		cc   = handshake.ChaCha20Poly1305
	)
	of := handshake.OffersOf
	for _, tt := range []struct {
		mine, theirs handshake.Offers
		want         handshake.Cipher
		ok           bool
	}{
		{of(a256, cc), of(a256, cc), a256, true},
		{of(a256, cc), of(cc), cc, true},
		{of(a128, cc), of(a256, a128, cc), a128, true},
		{of(a256, a128, cc), of(a256, a128, cc), a256, true},
		{of(a128), of(a256), 0, false},
		{0, 0xff, 0, false},
		{0xf8, 0xf8, 0, false}, // only ciphers unknown to this version
	} {
		if got, ok := handshake.Choose(tt.mine, tt.theirs); got != tt.want || ok != tt.ok {
			t.Errorf("Choose(%b, %b) = %v %v, want %v %v", tt.mine, tt.theirs, got, ok, tt.want, tt.ok)
		}
	}
}

// Both ends choose the same cipher, whichever end responds, and only a common one.
func TestChooseIsSymmetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := handshake.Offers(rapid.Byte().Draw(t, "a"))
		b := handshake.Offers(rapid.Byte().Draw(t, "b"))
		c, ok := handshake.Choose(a, b)
		d, ok2 := handshake.Choose(b, a)
		if c != d || ok != ok2 || ok != (a.Has(c) && b.Has(c)) || ok != (a&b&7 != 0) {
			t.Fatalf("%v %v, %v %v", c, ok, d, ok2)
		}
	})
}

func TestCipherNames(t *testing.T) {
	for _, name := range []string{"aes-256-gcm", "chacha20-poly1305", "aes-128-gcm"} {
		if c, ok := handshake.ParseCipher(name); !ok || c.String() != name {
			t.Errorf("%s parses to %v %v", name, c, ok)
		}
	}
	for _, name := range []string{"", "aes", "cipher(0)"} {
		if c, ok := handshake.ParseCipher(name); ok {
			t.Errorf("%q parses to %v", name, c)
		}
	}
	if _, err := handshake.Cipher(0).New([32]byte{}); err != handshake.ErrCipher {
		t.Errorf("cipher 0: %v", err)
	}
	if handshake.OffersOf(0, 4, 200) != 0 {
		t.Error("unknown ciphers were offered")
	}
}

func TestCipherShape(t *testing.T) {
	for _, c := range []handshake.Cipher{handshake.AES256GCM, handshake.ChaCha20Poly1305, handshake.AES128GCM} {
		aead, err := c.New([32]byte{1})
		if err != nil || aead.NonceSize() != 12 || aead.Overhead() != 16 {
			t.Errorf("%v: %v", c, err)
		}
	}
}

func TestAES128UsesHalfTheKey(t *testing.T) {
	key := [32]byte{1, 2, 3}
	other := key
	other[16]++
	wantOpens(t, handshake.AES128GCM, key, other, true)
	wantOpens(t, handshake.AES256GCM, key, other, false)
}

func TestHardwareAlwaysHasChaCha(t *testing.T) {
	o := handshake.Hardware()
	if !o.Has(handshake.ChaCha20Poly1305) || o.Has(handshake.AES128GCM) {
		t.Fatalf("offers %b", o)
	}
}
