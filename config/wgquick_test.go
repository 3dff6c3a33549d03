package config

import (
	"strings"
	"testing"

	"github.com/srdtun/srdtun/internal/keytext"
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
# SaveConfig = true
#   ^ not taken over: srdtun set --save writes its changes to the file
[interface]
private_key = "$0"
address = ["10.0.0.2/24", "fd00::2/64", "192.0.2.3"]
dns = ["10.0.0.1", "corp.example"]
mtu = 1420
table = 123
fwmark = 0xca6c
post_up = [["iptables", "-A", "FORWARD", "-i", "%i", "-j", "ACCEPT"]]
listen_port = 0 # any free port, as without ListenPort

# the office
[[peer]]
public_key = "$1"
preshared_key = "$psk"
allowed_ips = ["0.0.0.0/0", "::/0", "10.9.0.0/16"]
endpoints = ["office.example:51820"]
persistent_keepalive = 25
`

// importText imports a text, with the usual names of routing tables.
func importText(file, text string) ([]byte, error) {
	got, err := Import(file, []byte(text), ImportOptions{Tables: map[string]uint32{"vpn": 200}})
	if err != nil {
		return nil, err
	}
	return got.Text, nil
}

func TestImport(t *testing.T) {
	got, err := importText("wg0.conf", withKeys(wgFile))
	must(t, err)
	if want := withKeys(wgImported); string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// The result of Import is exported and imported again.
	c, err := Parse("lab.toml", got)
	must(t, err)
	again, err := importText("wg0.conf", string(Export(c)))
	if err != nil {
		t.Fatalf("%v\n%s", err, Export(c))
	}
	back, err := Parse("lab.toml", again)
	must(t, err)
	if d := Diff(c, back); len(d) > 0 {
		t.Errorf("differs: %v", d)
	}
}

func TestImportFaults(t *testing.T) {
	for _, c := range []struct{ doc, want string }{
		{"", "wg0.conf: PrivateKey: is missing: there is no [Interface]"},
		{"PrivateKey = x\n", "wg0.conf:1: want Key = Value in a section"},
		{"[Interface]\n[Server]\n", `wg0.conf:2: "[Server]" is not a section of wg-quick(8)`},
		{"[Interface]\nPrivateKey\n", "wg0.conf:2: want Key = Value in a section"},
		{"[Interface]\nMTUU = 4\n", "wg0.conf:2: MTUU: is not a key of wg-quick(8); the nearest is MTU"},
		{"[Interface]\nExcludedIPs = 10.0.0.0/8\n", "wg0.conf:2: ExcludedIPs: is not a key of wg-quick(8)"},
		{"[Interface]\nBogus = $0\n", "wg0.conf:2: Bogus: is not a key of wg-quick(8)"},
		{"[Interface]\nEndpoint = a:1\n", "wg0.conf:2: Endpoint: belongs in [Peer]"},
		{"[Interface]\n[Peer]\nPostUp = a\n", "wg0.conf:3: PostUp: belongs in [Interface]"},
		{"[Interface]\nPrivateKey = $0\nMTU = 7\n", `wg0.conf:3: MTU: "7" is not an MTU; want a number from 576 to 65520`},
		{"[Interface]\nMTU = \"1420\"\n", `wg0.conf:2: MTU: "\"1420\"" is not an MTU; want a number from 576 to 65520`},
		{"[Interface]\nListenPort =\n", "wg0.conf:2: ListenPort: is empty; give a value, or leave the line out"},
		{"[Interface]\nListenPort = 70000\n", `wg0.conf:2: ListenPort: "70000" is not a port; want a number from 0 to 65535`},
		{"[Interface]\nFwMark = blue\n", `wg0.conf:2: FwMark: "blue" is not a mark; want off or a number from 0 to 0xffffffff`},
		{"[Interface]\nTable = lan\n", `wg0.conf:2: Table: no routing table of this host has the name "lan" (/etc/iproute2/rt_tables); want off, auto, a number from 1 to 4294967295 or such a name`},
		{"[Interface]\nSaveConfig = maybe\n", `wg0.conf:2: SaveConfig: "maybe" is neither true nor false`},
		{"[Interface]\nDNS = 10.0.0.300\n", `wg0.conf:2: DNS: "10.0.0.300": neither an address nor a search domain`},
		{"[Interface]\nAddress = 10.0.0.0/24\nPrivateKey = $0\n", "wg0.conf:2: Address: 10.0.0.0/24 is the network itself; want a host's address in it"},
		{"[Interface]\nAddress = 10.0.0.x\n", `wg0.conf:2: Address: "10.0.0.x": not an IP prefix; want address/length`},
		{"[Interface]\nPrivateKey =\n", "wg0.conf:2: PrivateKey: is empty; give a value, or leave the line out"},
		{"[Interface]\nPrivateKey = $0x\n", "wg0.conf:2: PrivateKey: not a key: want 44 characters of base64 that stand for 32 bytes, as wg prints them"},
		{"[Interface]\nMTU = $0\n", `wg0.conf:2: MTU: "(hidden)" is not an MTU; want a number from 576 to 65520`},
		{"[Interface]\nAddress = $0\n", `wg0.conf:2: Address: "(hidden)": not an IP prefix; want address/length`},
		{"[Interface]\nPrivateKey = $0\n[Peer]\nPublicKey = $own\n", "wg0.conf:4: PublicKey: is this interface's own key"},
		{"[Interface]\nPrivateKey = $0\n[Peer]\nPublicKey = $1\nEndpoint = 192.0.2.1:1\nAllowedIPs = 192.0.2.1\n", "wg0.conf:5: Endpoint: 192.0.2.1 is among AllowedIPs: the route to it would be the tunnel itself"},
		{"# mine\n[Interface]\nPostUp = x\n\nPrivateKey = $0\n[Peer]\n# one\nPublicKey = $1\n\n[Peer]\nEndpoint = a:1\nAllowedIPs = 10.0.0.0/8,\nAllowedIPs = 10.0.0.0/99\nPublicKey = $2\n",
			`wg0.conf:13: AllowedIPs: "10.0.0.0/99": the prefix length must be a number from 0 to 32`},
		{"[Interface]\nPrivateKey = $0\n[Peer]\nEndpoint = a:1,b:2\n", `wg0.conf:4: Endpoint: "a:1,b:2": want one host:port; a peer of wg's has no second`},
		{"[Interface]\nPrivateKey = $0\n[Peer]\nEndpoint = a\n", `wg0.conf:4: Endpoint: "a": the port is missing; want host:port`},
		{"[Interface]\nPrivateKey = $0\n[Peer]\nEndpoint = a:1\n", "wg0.conf:3: PublicKey: is missing in this [Peer]"},
		{"[Interface]\nPrivateKey = $0\n[Peer]\nPublicKey = $1\nPresharedKey =\n", "wg0.conf:5: PresharedKey: is empty; give a value, or leave the line out"},
		{"[Interface]\nPrivateKey = $0\n[Peer]\nPublicKey = $1\nPersistentKeepalive = often\n", `wg0.conf:5: PersistentKeepalive: "often" is not an interval; want off or a number of seconds from 0 to 65535`},
		{"\xff\xfe[\x00I\x00", "wg0.conf: is UTF-16 text; save it as UTF-8"},
		{"[Interface]\nPostUp = a\xff\n", "wg0.conf:2: PostUp: is not UTF-8 text"},
		{"[Interface]\nPostUp = " + strings.Repeat("a", maxWord) + "\n", "wg0.conf:2: PostUp: is longer than 4062 bytes; put it into a script"},
		{"[Interface]\n" + strings.Repeat("PostUp = a\n", maxCommands+1), "wg0.conf:66: PostUp: more than 64 of them; put them into a script"},
	} {
		_, err := importText("wg0.conf", withKeys(c.doc))
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: %v, want %s", c.doc, err, c.want)
		}
	}
}

// wg-quick passes a table's name to `ip route`. People often use "main" so that wg-quick adds no
// rules.
func TestImportTable(t *testing.T) {
	for name, want := range map[string]string{"vpn": "200", "0x10": "16", "OFF": `"off"`, "main": "254", "default": "253", "auto": `"auto"`, "off": `"off"`, "7": "7"} {
		text, err := importText("wg0.conf", withKeys("[Interface]\nPrivateKey = $0\nTable = "+name+"\n"))
		if err != nil || !strings.Contains(string(text), "\ntable = "+want+"\n") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// If wg-quick(8) accepts an empty value of a key, the key counts as absent, and a later line with
// the key is used.
func TestImportEmptyValues(t *testing.T) {
	text, err := importText("wg0.conf", withKeys("[Interface]\nPrivateKey = $0\nMTU =\nTable =\nDNS=\nAddress =\nPostUp =\nListenPort = 0\n[Peer]\nPublicKey = $1\nAllowedIPs =\nPresharedKey = "+Key{}.String()+"\n"))
	if want := withKeys("[interface]\nprivate_key = \"$0\"\nlisten_port = 0\n\n[[peer]]\npublic_key = \"$1\"\n"); err != nil || string(text) != want {
		t.Errorf("%v\n%s", err, text)
	}
}

// A name from a comment contains no spaces at its ends and no invisible characters.
func TestImportOfNamesWithInvisibleParts(t *testing.T) {
	text, err := importText("wg0.conf", withKeys("[Interface]\nPrivateKey = $0\n### Client  my \u200b  hub\u3164 \n[Peer]\nPublicKey = $1\n"))
	if err != nil || !strings.Contains(string(text), "name = \"my hub\"\n") {
		t.Errorf("%v\n%s", err, text)
	}
}

// The fault of an invalid interface name is reported in terms of the wg-quick file, not of the
// result.
func TestImportOfLongFileName(t *testing.T) {
	_, err := importText("provider-se-got-001.conf", withKeys("[Interface]\nPrivateKey = $0\n"))
	if want := `provider-se-got-001.conf: its name becomes the interface's name: an interface name has at most 15 bytes, "provider-se-got-001" has more; give another with -o NAME.toml`; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// Keys unknown to wg-quick become comments.
func TestExport(t *testing.T) {
	c, err := Parse("/etc/srdtun/other.toml", []byte(withKeys(everything)))
	must(t, err)
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
	for _, key := range []string{"MTU", "Address", "DNS", "Table", "ListenPort", "PostUp", "$0", "[Peer]\nEndpoint", "[Peer]\nAllowedIPs", "[$0]\nx"} {
		f.Add([]byte(withKeys("[Interface]\n" + key + " = $0,$0\nPrivateKey = $0 $0\n# $0\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, err := importText("wg0.conf", string(data))
		for _, key := range keytext.Shape.FindAllString(string(data), -1) {
			for i := range len(key) - leak {
				if allNumeric(key) { // errors show a number that is out of bounds
					break
				}
				if err != nil && strings.Contains(err.Error(), key[i:i+leak]) {
					t.Fatalf("%v\n%s", err, data)
				}
			}
		}
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

// Exported commands mean the same to a shell as the original commands.
func TestExportHooks(t *testing.T) {
	c, err := Parse("lab.toml", []byte(withKeys(`[interface]
private_key = "$0"
post_up = [["ip", "link"], ["sh", "-c", "set -e; a; b"], ["bash", "-c", "set -eo pipefail; c | d"], ["logger", "it's up", "!"]]
pre_down = [["x"]]
`)))
	must(t, err)
	if want := "PostUp = ip link\nPostUp = a; b\nPostUp = c | d\nPostUp = logger 'it'\\''s up' !\nPreDown = x\n"; !strings.Contains(string(Export(c)), want) {
		t.Errorf("%s", Export(c))
	}
}

// wg-quick adds both 10.80.0.1/24 and 10.80.0.1/32 to a device, which are one address. It refuses
// any other duplicate.
func TestImportOfAnAddressTwice(t *testing.T) {
	for _, c := range []struct{ lines, want, note string }{
		{"Address = 10.80.0.1/24, 10.80.0.1", `["10.80.0.1/24"]`, "wg0.conf:3: Address: 10.80.0.1/32 is not taken over beside 10.80.0.1/24: it is the same address, and adds no route"},
		{"Address = 10.80.0.1\nAddress = fd00::1/64, 10.80.0.1/24", `["fd00::1/64", "10.80.0.1/24"]`, "wg0.conf:3: Address: 10.80.0.1/32 is not taken over beside 10.80.0.1/24: it is the same address, and adds no route"},
		{"Address = 10.80.0.1/24\nAddress = 10.80.0.1/16", `["10.80.0.1/16"]`, "wg0.conf:3: Address: 10.80.0.1/24 is not taken over beside 10.80.0.1/16: it is the same address, and adds no route"},
		{"Address = 10.80.0.1/24, 10.80.0.1/24", `["10.80.0.1/24"]`, ""},
		{"Address = fd00::1, fd00::1/64", `["fd00::1/64"]`, "wg0.conf:3: Address: fd00::1 is listed twice, which wg-quick refuses; fd00::1/64 is taken over once"},
		{"Address = 10.80.0.1/24, 10.80.0.2/24", `["10.80.0.1/24", "10.80.0.2/24"]`, ""},
	} {
		got, err := Import("wg0.conf", []byte(withKeys("[Interface]\nPrivateKey = $0\n"+c.lines+"\n")), ImportOptions{})
		if err != nil {
			t.Errorf("%q: %v", c.lines, err)
			continue
		}
		made, err := Parse("wg0.toml", got.Text)
		if err != nil || listTOML(texts(made.Interface.Address)) != c.want || strings.Join(got.Notes, "\n") != c.note {
			t.Errorf("%q: %v, %q\n%s", c.lines, err, got.Notes, got.Text)
		}
	}
}
