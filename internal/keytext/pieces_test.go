package keytext

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Each piece of a known secret is hidden, and no other text.
func TestPiecesAreHidden(t *testing.T) {
	const secret, other = "xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg=", "oD1r4LpO1DCso8wyo3uhFx/dZW5TY3VxK7QRfwNYDHY="
	var p Pieces
	if got := p.Hide(secret); got != secret {
		t.Errorf("nothing is known, and %q", got)
	}
	p.Add(secret)
	p.Add("short")
	rapid.Check(t, func(t *rapid.T) {
		piece := func(name string) string {
			from := rapid.IntRange(0, len(secret)-LeastPiece).Draw(t, name)
			return secret[from:rapid.IntRange(from+LeastPiece, len(secret)).Draw(t, name+" to")]
		}
		a, b := piece("first"), piece("second")
		if got, want := p.Hide("#"+a+" "+other+" "+b+"#"), "#(hidden) "+other+" (hidden)#"; got != want {
			t.Fatalf("%q and %q: %q", a, b, got)
		}
		if got := p.Hide(a + b); strings.Contains(got, a) || strings.Trim(strings.ReplaceAll(got, Hidden, ""), "") != "" {
			t.Fatalf("%q and %q: %q", a, b, got)
		}
	})
}
