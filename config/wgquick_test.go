package config

import (
	"strings"
	"testing"
)

const wgFile = `# my laptop
[Interface]
PrivateKey = $0
Address = 10.0.0.2/24, fd00::2/64
Address = 192.0.2.3
DNS = 10.0.0.1, corp.example
MTU = 1420
Table = 123
FwMark = 0xca6c
PostUp = iptables -A FORWARD -i %i -j ACCEPT # and so on
SaveConfig = true

# the office
[Peer]
publickey=$1
PresharedKey = $psk
AllowedIPs = 0.0.0.0/0, ::/0
AllowedIPs = 10.9.0.0/16
Endpoint = office.example:51820
PersistentKeepalive = 25
`

const wgImported = `# my laptop
# and so on
# PostUp = iptables -A FORWARD -i %i -j ACCEPT
#   ^ not taken over: post_up is a list of words, which no shell reads
# SaveConfig = true
#   ^ not taken over: srdtun set --save writes what it changes to the file
[interface]
private_key = "$0"
address = ["10.0.0.2/24", "fd00::2/64", "192.0.2.3"]
dns = ["10.0.0.1", "corp.example"]
mtu = 1420
table = 123
fwmark = 0xca6c

# the office
[[peer]]
public_key = "$1"
preshared_key = "$psk"
allowed_ips = ["0.0.0.0/0", "::/0", "10.9.0.0/16"]
endpoints = ["office.example:51820"]
persistent_keepalive = 25
`

func TestImport(t *testing.T) {
	got, err := Import("wg0.conf", []byte(withKeys(wgFile)))
	if err != nil {
		t.Fatal(err)
	}
	if want := withKeys(wgImported); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// There and back, but for the port: wg-quick's default is any.
	c, err := Parse("lab.toml", got)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Import("wg0.conf", Export(c))
	if err != nil {
		t.Fatalf("%v\n%s", err, Export(c))
	}
	back, err := Parse("lab.toml", again)
	if err != nil {
		t.Fatal(err)
	}
	if d := Diff(c, back); len(d) > 0 {
		t.Errorf("differs: %v", d)
	}
}

func TestImportFaults(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{"", "wg0.conf: interface.private_key: is missing; give private_key or private_key_file"},
		{"PrivateKey = x\n", "wg0.conf:1: want Key = Value in a section"},
		{"[Interface]\n[Server]\n", `wg0.conf:2: "[Server]" is no section of wg-quick(8)`},
		{"[Interface]\nPrivateKey\n", "wg0.conf:2: want Key = Value in a section"},
		{"[Interface]\nJc = 4\n", "wg0.conf:2: Jc: is no key of wg-quick(8)"},
		{"[Interface]\nEndpoint = a:1\n", "wg0.conf:2: Endpoint: belongs in [peer]"},
		{"[Interface]\nMTU = 1\nMTU = 2\n", "wg0.conf:3: MTU: is there already"},
		{"[Interface]\nPrivateKey = $0\nMTU = 7\n", "wg0.conf:3: interface.mtu: 7 is out of bounds; want 1280 to 65520"},
		{"[Interface]\nPrivateKey = $0x\n", "wg0.conf:2: interface.private_key: not a key: want 44 characters of base64 that stand for 32 bytes, as wg prints them"},
		{"# mine\n[Interface]\nPostUp = x\n\nPrivateKey = $0\n[Peer]\n# one\nPublicKey = $1\n\n[Peer]\nEndpoint = a:1\nAllowedIPs = 10.0.0.0/8,\nAllowedIPs = 10.0.0.0/99\nPublicKey = $2\n",
			`wg0.conf:12: peer.allowed_ips: "10.0.0.0/99": the prefix length must be a number from 0 to 32`},
		{"[Interface]\nPrivateKey = $0\n[Peer]\nEndpoint = a:1\n", "wg0.conf:3: peer.public_key: is missing"},
	} {
		_, err := Import("wg0.conf", []byte(withKeys(c.doc)))
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.doc, err, c.want)
		}
	}
}

// wg-quick hands a table's name to ip route, and "main" is often used to have no rules.
func TestImportTable(t *testing.T) {
	for name, want := range map[string]string{"main": "254", "default": "253", "auto": `"auto"`, "off": `"off"`, "7": "7"} {
		text, err := Import("wg0.conf", []byte(withKeys("[Interface]\nPrivateKey = $0\nTable = "+name+"\n")))
		if err != nil || !strings.Contains(string(text), "\ntable = "+want+"\n") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// What wg-quick has no words for is in the comments.
func TestExport(t *testing.T) {
	c, err := Parse("/etc/srdtun/other.toml", []byte(withKeys(everything)))
	if err != nil {
		t.Fatal(err)
	}
	text := string(Export(c))
	for _, want := range []string{
		"\nPrivateKey = " + wgPairs[0].private + "\n", "\nAddress = 10.80.0.1/24, fd00::1/64, 192.0.2.9/32\n", "\nListenPort = 4500\n",
		"\nFwMark = 51820\n", "\nEndpoint = 198.51.100.1:51820\n# ", "\n# name = \"left\"\n", "\n# paths.policy = \"conga\"\n",
		"\n# endpoints besides: [2001:db8::7]:51820, left.example.net:4500\n", "\nDNS = 10.80.0.53, corp.example\n", "\n# post_up = [",
	} {
		if !strings.Contains(strings.ReplaceAll(text, "51820\nAllowedIPs", "51820\n# "), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(withKeys(wgFile)))
	f.Add([]byte("[Interface]\nPrivateKey = \"\n[Peer]\nEndpoint=,\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := Import("wg0.conf", data)
		if (text == nil) == (err == nil) || err != nil && strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Fatalf("%q, %v", text, err)
		}
		if err != nil {
			return
		}
		if _, err := Parse("wg0.toml", text); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	})
}
