package config

import (
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"
)

func key(t *testing.T, text string) Key {
	t.Helper()
	k, err := ParseKey(text)
	must(t, err)
	return k
}

// everything is a configuration with every key except those that name files.
const everything = `
[interface]
name = "lab0"
private_key = "$0"
address = ["10.80.0.1/24", "fd00::1/64", "192.0.2.9"]
listen_port = 4500
mtu = 9000
fwmark = 0xca6c
table = 123
workers = 2
offload = false
dns = ["10.80.0.53", "corp.example"]
pre_up = ["modprobe", "tun"]
post_up = [["ip", "link"], ["logger", "a \"b\" \u0007 %i"]]
pre_down = [["logger", ""]]
post_down = [["true"]]

[paths]
source_ports = 64
port_range = "40000-40063"
local = ["192.0.2.1", "2001:db8::1", "fe80::1%eth0", "eth1.100"]
policy = "conga"
flowlet_timeout = "13ms"
weights = [3, 1, 1000, 2]
primary = "fe80::1%eth0"
flowcell = 131072
dre_alpha = 0.25
dre_period = "40us"
link_mbit = 10000
mtu = 1400

[transport]
cipher = "aes-128-gcm"

[order]
udp = "unordered"

[metrics]
listen = "127.0.0.1:9586"
per_path = true
[dashboard]
listen = "[::1]:9587"
[peers]
dir = "other.d"
owner = "_agent"
allow = "10.8.0.0/16"

[[peer]]
name = "left"
public_key = "$1"
preshared_key = "$psk"
endpoints = ["198.51.100.1:51820", "[2001:DB8:0::7]:51820", "left.example.net:4500"]
allowed_ips = ["10.80.0.2/32", "10.81.0.77/16", "fd00::2", "0.0.0.0/0"]
persistent_keepalive = 25
policy = "letflow"
expires = "2026-12-01T01:00:00.5+01:00"

[[peer]]
public_key = "$2"
`

func TestParseEverything(t *testing.T) {
	got, err := Parse("/etc/srdtun/other.toml", []byte(withKeys(everything)))
	must(t, err)
	prefixes := func(texts ...string) (ps []netip.Prefix) {
		for _, text := range texts {
			ps = append(ps, netip.MustParsePrefix(text))
		}
		return ps
	}
	want := &Config{
		File: "/etc/srdtun/other.toml",
		Interface: Interface{
			Name: "lab0", PrivateKey: NewSecret(key(t, wgPairs[0].private)),
			Address:    prefixes("10.80.0.1/24", "fd00::1/64", "192.0.2.9/32"),
			ListenPort: 4500, MTU: 9000, FwMark: 0xca6c, Table: Table{ID: 123}, Workers: 2, NoOffload: true,
			DNS: []string{"10.80.0.53", "corp.example"},
			Hooks: Hooks{
				PreUp: [][]string{{"modprobe", "tun"}}, PostUp: [][]string{{"ip", "link"}, {"logger", "a \"b\" \a %i"}},
				PreDown: [][]string{{"logger", ""}}, PostDown: [][]string{{"true"}},
			},
		},
		PeersDir: "/etc/srdtun/other.d", PeersOwner: "_agent", PeersAllow: []netip.Prefix{netip.MustParsePrefix("10.8.0.0/16")},
		Paths: Paths{
			SourcePorts: 64, PortRange: [2]uint16{40000, 40063}, Policy: "conga", PathMTU: 1400,
			Local: []Local{
				{Addr: netip.MustParseAddr("192.0.2.1")}, {Addr: netip.MustParseAddr("2001:db8::1")},
				{Addr: netip.MustParseAddr("fe80::1%eth0")}, {Interface: "eth1.100"},
			},
			Steering: Steering{
				FlowletTimeout: 13 * time.Millisecond, Weights: []int{3, 1, 1000, 2}, Primary: 3, Flowcell: 131072,
				DREAlpha: 0.25, DREPeriod: 40 * time.Microsecond, LinkMbit: 10000,
			},
		},
		Transport: Transport{Cipher: "aes-128-gcm"},
		Order:     Order{UDP: "unordered", HoldMax: 150 * time.Millisecond},
		Metrics:   Metrics{Listen: Listen{TCP: netip.MustParseAddrPort("127.0.0.1:9586")}, PerPath: true},
		Dashboard: Dashboard{Listen: Listen{TCP: netip.MustParseAddrPort("[::1]:9587")}},
		Peers: []Peer{{
			Name: "left", PublicKey: key(t, wgPairs[1].public),
			PresharedKey:        NewSecret(key(t, wgPairs[2].private)),
			Endpoints:           []Endpoint{{"198.51.100.1", 51820}, {"2001:db8::7", 51820}, {"left.example.net", 4500}},
			AllowedIPs:          prefixes("10.80.0.2/32", "10.81.0.0/16", "fd00::2/128", "0.0.0.0/0"),
			PersistentKeepalive: 25 * time.Second, Policy: "letflow",
			Expires: time.Date(2026, 12, 1, 0, 0, 0, 500_000_000, time.UTC),
		}, {PublicKey: key(t, wgPairs[2].public), Policy: "conga"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseDefaults(t *testing.T) {
	got, err := Parse("/etc/srdtun/lab.toml", []byte(`interface.private_key = "`+wgPairs[0].private+`"`))
	must(t, err)
	want := &Config{
		File: "/etc/srdtun/lab.toml",
		Interface: Interface{
			Name: "lab", PrivateKey: NewSecret(key(t, wgPairs[0].private)), ListenPort: 51820, MTU: 1500,
		},
		Paths:     Paths{SourcePorts: 32, Policy: "spray"},
		Transport: Transport{Cipher: "auto"},
		Order:     Order{UDP: "ordered", HoldMax: 150 * time.Millisecond},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestParseOtherSpellings checks values that have two spellings.
func TestParseOtherSpellings(t *testing.T) {
	long := parsed(t, `
[interface]
private_key = "$0"
address = ["10.0.0.1/24"]
fwmark = 51820
[paths]
local = ["eth0"]
[[peer]]
public_key = "$1"
endpoints = ["a.example:1"]
allowed_ips = ["10.0.0.2/32"]
[[peer]]
public_key = "$2"
persistent_keepalive = 0
`)
	short := parsed(t, "\ufeff"+`peer = [
  { public_key = "$1", endpoints = "a.example:1", allowed_ips = "10.0.0.2" }, # one
  { public_key = "$2", persistent_keepalive = "off" },
]
interface = { private_key = '$0', address = "10.0.0.1/24", table = "auto", fwmark = "0xCA6C" }
"paths".'local' = "eth0"
`)
	if !reflect.DeepEqual(long, short) {
		t.Errorf("long  %+v\nshort %+v", long, short)
	}
	crlf := parsed(t, "[interface]\r\nprivate_key = \"$0\"\r\nfwmark = \"off\"\r\ntable = \"off\"\r\n")
	if crlf.Interface.FwMark != 0 || !crlf.Interface.Table.Off {
		t.Errorf("got %+v", crlf.Interface)
	}
}

// parsed parses a document in which $0 stands for a private key, and $1 to $3 for public keys of
// other hosts.
func parsed(t *testing.T, doc string) *Config {
	t.Helper()
	cfg, err := Parse("s.toml", []byte(withKeys(doc)))
	must(t, err)
	return cfg
}

func withKeys(doc string) string {
	return strings.NewReplacer("$0", wgPairs[0].private, "$own", wgPairs[0].public, "$1", wgPairs[1].public,
		"$2", wgPairs[2].public, "$3", wgPairs[3].public, "$psk", wgPairs[2].private, "$shared", wgPairs[3].private).Replace(doc)
}
