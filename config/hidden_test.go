package config

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// leak is how many characters of a secret in a row an error must not show. The
// other 27 keep more than 160 of its bits.
const leak = 16

// TestErrorsHideSecrets breaks a document in every way that a slip of the hand
// does, and looks for its secrets in what comes out.
func TestErrorsHideSecrets(t *testing.T) {
	secrets := []string{wgPairs[0].private, wgPairs[2].private}
	doc := withKeys("[interface]\nprivate_key = \"$0\"\nmtu = 1400\n[[peer]]\npublic_key = \"$1\"\npreshared_key = \"") +
		secrets[1] + "\"\nname = \"x\"\n"
	rapid.Check(t, func(t *rapid.T) {
		broken := doc
		for range rapid.IntRange(1, 3).Draw(t, "slips") {
			at := rapid.IntRange(0, len(broken)-1).Draw(t, "at")
			end := min(at+rapid.IntRange(0, 12).Draw(t, "cut"), len(broken))
			put := rapid.SampledFrom([]string{"", "", "\"", "'", "\n", " ", "=", "#", "[", "\\", ".", "\x01", "\xff", ",", "x"}).Draw(t, "put")
			broken = broken[:at] + put + broken[end:]
		}
		_, err := Parse("s.toml", []byte(broken))
		if err == nil {
			return
		}
		for _, secret := range secrets {
			for i := range len(secret) - leak {
				if strings.Contains(err.Error(), secret[i:i+leak]) {
					t.Fatalf("%v\n%s", err, broken)
				}
			}
		}
	})
}
