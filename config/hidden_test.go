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

// TestImportErrorsHideSecrets does the same to a file of wg-quick's.
func TestImportErrorsHideSecrets(t *testing.T) {
	secrets := []string{wgPairs[0].private, wgPairs[2].private}
	doc := withKeys("[Interface]\nPrivateKey = $0\nMTU = 1400\nAddress = 10.0.0.1/24\nPostUp = a; b\nTable = off\nDNS = 10.0.0.9\n"+
		"[Peer]\nPublicKey = $1\nPresharedKey = ") + secrets[1] + "\nEndpoint = a.example:1\nAllowedIPs = 10.0.0.0/24\n"
	words := []string{"PrivateKey", "MTU", "Address", "PostUp", "Table", "DNS", "Endpoint", "AllowedIPs", "ListenPort", "FwMark", "SaveConfig", "[", "] ", "#"}
	rapid.Check(t, func(t *rapid.T) {
		broken := doc
		for range rapid.IntRange(1, 3).Draw(t, "slips") {
			at := rapid.IntRange(0, len(broken)-1).Draw(t, "at")
			end := min(at+rapid.IntRange(0, 12).Draw(t, "cut"), len(broken))
			put := rapid.SampledFrom([]string{"", "\"", "\n", " ", "=", "#", "[", ":", "/", "\x01", "\xff", ",", "x", "\n" + secrets[0] + "\n"}).Draw(t, "put")
			broken = broken[:at] + put + broken[end:]
		}
		key := rapid.SampledFrom(words).Draw(t, "key")
		broken = strings.Replace(broken, rapid.SampledFrom(words).Draw(t, "for"), key, 1)
		_, err := importText("wg0.conf", broken)
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
