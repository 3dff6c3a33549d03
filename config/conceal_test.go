package config

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// secretly has secrets, $0 to $2, in all places where they may occur, and commands with ordinary
// words.
const secretly = `# old: private_key = "$2"
[interface]
name = "lab"
#private_key = '$2'
private_key = "$0" # was $2
address = ["10.80.0.1/24", "fd80::1/64"]
mtu = 1400
dns = [
  "10.80.0.53", # $2
  "corp.example",
]
pre_up = ["curl", "-u", "admin:hunter2", "https://swordfish@example"]
post_up = [
  ["ip", "link", "hunter2"],
  ['curl', 'swordfish'],
]
post_down = [["logger",
  "hunter2"], ["swordfish", "x"]]

[paths]
local = ["eth0", "wwan0"]
policy = "ecmp"

[[peer]]
name = "x y"
public_key = "$1"
preshared_key = '''$2'''
endpoints = ["203.0.113.2:51820", "host.example:51820"]
allowed_ips = [
  "10.80.0.2/32",
]
`

func secretText() (doc string, secrets []string) {
	secrets = []string{wgPairs[0].private, wgPairs[2].private}
	doc = strings.ReplaceAll(withKeys(secretly), wgPairs[2].public, secrets[1])
	return strings.NewReplacer("$2", secrets[1]).Replace(doc), secrets
}

// nobody knows no public key, and as programs only those in the document.
var nobody = Known{
	Public:  func(string) bool { return false },
	Program: func(name string) bool { return name == "curl" || name == "ip" || name == "logger" },
}

func leaks(t *rapid.T, from, doc, got string, secrets []string) {
	for _, word := range []string{"hunter2", "swordfish"} {
		if strings.Contains(got, word) {
			t.Fatalf("%s: %s in\n%s\nof\n%s", from, word, got, doc)
		}
	}
	for _, secret := range secrets {
		for i := range len(secret) - leak {
			if strings.Contains(got, secret[i:i+leak]) {
				t.Fatalf("%s: a part of %s in\n%s\nof\n%s", from, secret, got, doc)
			}
		}
	}
}

func TestConcealShowsWhatIsHarmless(t *testing.T) {
	doc, _ := secretText()
	shown, words := Conceal(doc, Known{func(k string) bool { return k == wgPairs[1].public }, nobody.Program})
	want := `#
[interface]
name = "lab"
#
private_key = (hidden)
address = ["10.80.0.1/24", "fd80::1/64"]
mtu = 1400
dns = [
"10.80.0.53",
"corp.example",
]
pre_up = ["curl", (hidden)]
post_up = [
["ip", (hidden)]
["curl", (hidden)]
]
post_down = (hidden)
(hidden)

[paths]
local = ["eth0", "wwan0"]
policy = "ecmp"

[[peer]]
name = "x y"
public_key = "` + wgPairs[1].public + `"
preshared_key = (hidden)
endpoints = ["203.0.113.2:51820", "host.example:51820"]
allowed_ips = [
"10.80.0.2/32",
]
`
	if shown != want {
		t.Errorf("got\n%s\nwant\n%s", shown, want)
	}
	if all := strings.Join(words, " "); !strings.Contains(all, "admin:hunter2") || strings.Contains(all, "10.80") {
		t.Errorf("left out: %s", all)
	}
}

// A secret key that is written as an array of bytes is hidden in each place, whether it is on one
// line or on several.
func TestConcealHidesBytes(t *testing.T) {
	raw := []string{"130", "183", "14", "238", "127", "26", "80", "57", "190", "240", "126", "194", "52", "127", "6", "110", "208", "143", "93", "199", "81", "36", "71", "227", "64", "67", "0", "2", "107", "110", "84", "85"}
	for _, section := range schema {
		for _, k := range section.keys {
			for _, gap := range []string{", ", ",", " ", ":", ".", `", "`, ",\n", ",\n  "} {
				for _, form := range []string{"[$]", "[\n$\n]", "[\n$,\n]", `"$"`, `["$"]`, "$", "{$}", "[32]byte{$}"} {
					doc := k.name + " = " + strings.ReplaceAll(form, "$", strings.Join(raw, gap)) + "\n"
					shown, _ := Conceal(doc, nobody)
					if n := len(regexp.MustCompile(`\b[0-9]+\b`).FindAllString(shown, -1)); n > 1 {
						t.Errorf("%d numbers of\n%sin\n%s", n, doc, shown)
					}
				}
			}
		}
	}
}

// Lists of harmless values are shown.
func TestConcealShowsLists(t *testing.T) {
	for _, line := range []string{
		"weights = [1, 2, 100]", `allowed_ips = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6", "10.0.0.7", "10.0.0.8"]`,
		`address = ["10.80.0.1/24", "fd80::1/64"]`, "owner = 990", "mtu = 1400", `local = ["192.0.2.1", "192.0.2.2"]`,
	} {
		if shown, _ := Conceal(line+"\n", nobody); shown != line+"\n" {
			t.Errorf("%s became %s", line, shown)
		}
	}
}

// A secret key may stand in place of the directory's name, as base64 or as bytes.
func TestKeyInPlaceOfADirectory(t *testing.T) {
	for _, dir := range []string{wgPairs[0].private, wgPairs[0].private[:20] + " " + wgPairs[0].private[20:], strings.Repeat("130, 14, ", 16)} {
		c := parsed(t, withKeys("[interface]\nprivate_key = '$2'\n[peers]\ndir = '"+dir+"'\n"))
		_, err := CheckDropIns(c)
		if err == nil || strings.Contains(err.Error(), dir[:18]) || !strings.Contains(err.Error(), hidden) {
			t.Errorf("%v", err)
		}
		if _, _, err := DropInTexts(c, 1); err == nil || strings.Contains(err.Error(), dir[:18]) {
			t.Errorf("%v", err)
		}
	}
}

// TestConcealHidesByPlace has texts that people paste by mistake. They are hidden because of their
// place, not because of their form.
func TestConcealHidesByPlace(t *testing.T) {
	key := wgPairs[0].private
	hex := strings.Repeat("0123456789abcdef", 4)
	for _, line := range []string{
		"private_key = \"$\"", "private_key = $", "private_key=$", "private_key $", "private_key: $", "$", "\"$\"", "'$',",
		"PrivateKey = $", "Private Key = $", "private-key = \"$\"", "prviate_key = \"$\"", "key = \"$\"", "secret = $",
		"interface.private_key = \"$\"", "\"private_key\" = \"$\"", "interface = { private_key = \"$\" }", "private_key = [\"$\"]",
		"peer = [{ public_key = \"x\", preshared_key = \"$\" }]", "name = \"$\"", "name = \"x\" private_key = \"$\"", "mtu = 1400 # $",
		"mtu = 1400 $", "private_key_file = \"$\"", "dir = '$'", "address = \"$\"", "endpoints = [\"$\"]", "endpoints = [\"$:1\"]", "dns = \"$\"",
		"[interface] # $", "[interface] $", "[$]", "private_key = \"\"\"\n$\n\"\"\"", "private_key = \n\"$\"", "private_key =\n  $\n",
		"private_key = '''\n$''' # x", "# $", "#$", "mtu = \"$\"", "local = [\n\"$\",\n]", "public_key = \"$\"", "policy = \"$\"", "\ufeffprivate_key = $",
		"post_up = [[\"x\", \"$\"]]", "post_up = \"x $\"", "post_up = [\"x $\"]", "post_up = [\n\"x\",\n\"$\"]", "post_up = [[\"x\", # $\n\"y\"]]", "post_up = x $",
		"PostUp = x -p $", "post_upp = [[\"x\", \"$\"]]", "post_up = [\n[\"x\", \"$\"],\n[\"y\", \"$\"]\n]",
	} {
		for _, secret := range []string{key, key[:43], key[:20] + " " + key[20:], hex, strings.ToUpper(hex), "correct horse", "hunter2"} {
			if secret == "hunter2" && (strings.Contains(line, "name") || strings.Contains(line, "_file") || strings.Contains(line, "dir") || strings.Contains(line, "local")) {
				continue // the text is a possible name
			}
			if secret == "correct horse" && strings.HasPrefix(line, "name") {
				continue
			}
			doc := strings.ReplaceAll(line, "$", secret) + "\n"
			shown, _ := Conceal(doc, nobody)
			for _, part := range strings.Fields(secret) {
				if strings.Contains(shown, part) {
					t.Errorf("%q became %q", doc, shown)
				}
			}
		}
	}
}

// slipped returns a document with some typing mistakes.
func slipped(t *rapid.T, doc string) string {
	for range rapid.IntRange(1, 4).Draw(t, "slips") {
		at := rapid.IntRange(0, len(doc)-1).Draw(t, "at")
		end := min(at+rapid.IntRange(0, 12).Draw(t, "cut"), len(doc))
		put := rapid.SampledFrom([]string{"", "", "\"", "'", "\n", " ", "=", "#", "[", "]", "\\", ".", "\x01", "\xff", ",", "x", "\"\"\"", "'''", "{", "}", "\r"}).Draw(t, "put")
		doc = doc[:at] + put + doc[end:]
	}
	return doc
}

// TestConcealHidesWhateverBreaks makes typing mistakes in a document. No secret must appear in the
// shown text or in the fault.
func TestConcealHidesWhateverBreaks(t *testing.T) {
	doc, secrets := secretText()
	rapid.Check(t, func(t *rapid.T) {
		broken := slipped(t, doc)
		shown, _ := Conceal(broken, nobody)
		leaks(t, "shown", broken, shown, secrets)
		if _, err := Parse("s.toml", []byte(broken)); err != nil {
			leaks(t, "fault", broken, err.Error(), secrets)
		}
	})
}

func FuzzConceal(f *testing.F) {
	doc, _ := secretText()
	f.Add(doc)
	f.Fuzz(func(t *testing.T, text string) {
		shown, _ := Conceal(text, nobody)
		if a, b := strings.Count(shown, "\n"), strings.Count(text, "\n"); a != b && a != b+1 {
			t.Fatalf("%d lines became %d", b, a)
		}
		again, _ := Conceal(shown, nobody)
		if strings.Count(again, "\n") != strings.Count(shown, "\n") {
			t.Fatal("a second time it has other lines")
		}
	})
}

// The lines of a multi-line string may look like keys with values, but belong to the string's key.
// This is so in invalid files too, and for a string without an end.
func TestConcealHidesStringsOfSeveralLines(t *testing.T) {
	for _, text := range []string{
		"[interface]\nmtu = 1400\npost_up = [[\"sh\",\"-c\",'''\nname=Tr0ub4dor\nprimary = \"x\"\ndns=x.y\nfwmark=90817263\nendpoints = [ \"x.y\",\n\"z.y\",\nwg-login --user \"$name\"\n''']]\nmtu = 1300\n",
		"[[peer]]\npreshared_key = \"\"\"\nname = \"Tr0ub4dor\"\ndns = x.y\n\"\"\"\nmtu = 1300\n",
		"\ufeff[interface]\r\nprivate_key = \"\"\"\r\nname = \"Tr0ub4dor\"\r\nfwmark=90817263\r\n",
		"name = ''' ''' \"\"\"\nname = \"Tr0ub4dor\"\n'''\ndns = [\"x.y\"]\n\"\"\"\nmtu = 1300\n",
	} {
		got, _ := Conceal(text, nobody)
		for _, word := range []string{"Tr0ub4dor", "primary", "x.y", "z.y", "90817263", "wg-login"} {
			if strings.Contains(got, word) {
				t.Errorf("%s is shown:\n%s\nof\n%s", word, got, text)
			}
		}
		if strings.Count(got, "\n") != strings.Count(text, "\n") {
			t.Errorf("lines have other numbers:\n%s\nof\n%s", got, text)
		}
		if strings.HasSuffix(text, "mtu = 1300\n") && !strings.HasSuffix(got, "mtu = 1300\n") {
			t.Errorf("what follows the string is hidden:\n%s\nof\n%s", got, text)
		}
	}
}
