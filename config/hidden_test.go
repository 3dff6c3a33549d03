package config

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// An error must not show leak consecutive characters of a secret. If it shows fewer, the other 28
// or more characters keep at least 160 bits secret.
const leak = 16

// TestErrorsHideSecrets makes random typing mistakes in a document, and looks for its secrets in
// the error.
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

// TestImportErrorsHideSecrets does the same to a wg-quick file.
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
