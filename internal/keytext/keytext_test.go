package keytext

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Parsing the text of a key gives the same key, and no other text gives it.
func TestOneSpelling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := [Bytes]byte(rapid.SliceOfN(rapid.Byte(), Bytes, Bytes).Draw(t, "key"))
		text := Format(key)
		if got, err := Parse(text); err != nil || got != key || !Shape.MatchString(text) {
			t.Errorf("%s: %x, %v", text, got, err)
		}
		at := rapid.IntRange(0, Chars-1).Draw(t, "at")
		other := text[:at] + string(rapid.Byte().Draw(t, "byte")) + text[at+1:]
		if got, err := Parse(other); other != text && err == nil && got == key {
			t.Errorf("%q stands for the key of %s", other, text)
		}
	})
}

func TestPublicKeys(t *testing.T) {
	p := [Bytes]byte{0xed, 31: 0x7f}
	for i := 1; i < 31; i++ {
		p[i] = 0xff
	}
	below, top := p, [Bytes]byte{9, 31: 0x80}
	below[0]--
	for key, want := range map[[Bytes]byte]error{below: nil, p: ErrSpelling, top: ErrSpelling, {9}: nil, {}: nil} {
		if got, err := ParsePublic(Format(key)); !errors.Is(err, want) || err == nil && got != key {
			t.Errorf("%x: %v, want %v", key, err, want)
		}
	}
	for _, text := range []string{"", "x", strings.Repeat("A", 43) + "B", strings.Repeat("A", 43) + "=\n"} {
		if _, err := ParsePublic(text); !errors.Is(err, ErrText) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
