package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// whole returns a configuration with every key except those that name files.
func whole(t *testing.T) *Config {
	t.Helper()
	c, err := Parse("/etc/srdtun/other.toml", []byte(withKeys(everything)))
	must(t, err)
	return c
}

func TestFormatRoundTrip(t *testing.T) {
	for _, c := range []*Config{whole(t), parsed(t, mainPart), parsed(t, mainPart+"[[peer]]\npublic_key = '$1'\n")} {
		again, err := ParseSealed(c.File, Format(c))
		if err != nil {
			t.Fatalf("%v\n%s", err, Format(c))
		}
		if !reflect.DeepEqual(again, c) {
			t.Errorf("got  %+v\nwant %+v", again, c)
		}
		if d := Diff(c, again); len(d) > 0 {
			t.Errorf("differs from itself: %v", d)
		}
	}
}

// Format writes every key that has a value, so no key is missing in the table.
func TestFormatWritesEveryKey(t *testing.T) {
	text := string(Format(whole(t)))
	for _, s := range schema {
		for _, k := range s.keys {
			if !strings.HasSuffix(k.name, "_file") && !strings.Contains(text, "\n"+k.name+" = ") && !strings.HasPrefix(text, k.name) {
				t.Errorf("%s.%s is not written", s.name, k.name)
			}
			if k.means == "" || k.kind == "" || k.absent == "" {
				t.Errorf("%s.%s is not described", s.name, k.name)
			}
		}
	}
}

// others has another value for every key.
const others = `
[interface]
name = "lab1"
private_key = "$psk"
address = ["10.80.0.9/24"]
listen_port = 4501
mtu = 9001
fwmark = 7
table = 124
workers = 3
offload = true
dns = ["10.80.0.54"]
pre_up = ["a"]
post_up = ["b"]
pre_down = ["c"]
post_down = ["d"]
[paths]
source_ports = 65
port_range = "40000-40065"
local = ["192.0.2.1", "eth0"]
policy = "plb"
flowlet_timeout = "14ms"
weights = [3, 4]
primary = "eth0"
flowcell = 131073
dre_alpha = 0.5
dre_period = "41us"
link_mbit = 10001
mtu = 1401
[transport]
cipher = "chacha20-poly1305"
[order]
udp = "ordered"
[metrics]
listen = "127.0.0.1:9590"
[dashboard]
listen = "127.0.0.1:9591"
[peers]
dir = "/other.d"
owner = 998
allow = ["10.9.0.0/16", "fd09::/32"]
[[peer]]
name = "right"
public_key = "$1"
preshared_key = "$shared"
endpoints = ["198.51.100.2:51820"]
allowed_ips = ["10.80.0.3/32"]
persistent_keepalive = 26
policy = "presto"
expires = 2027-01-01T00:00:00Z
[[peer]]
name = "new"
public_key = "$3"
allowed_ips = ["10.0.1.0/24", "10.0.2.0/24", "10.0.3.0/24", "10.0.4.0/24", "10.0.5.0/24"]
`

// Diff names each changed key and shows no secret. Settle keeps the old values of exactly those
// keys that need a restart.
func TestDiffNamesEveryKey(t *testing.T) {
	before, after := whole(t), parsed(t, others)
	settled, err := Settle(before, after)
	must(t, err)
	var named []string
	for _, c := range Diff(before, after) {
		named = append(named, c.Key)
		for _, secret := range []Secret{before.Interface.PrivateKey, before.Peers[0].PresharedKey} {
			if strings.Contains(c.String(), secret.Reveal()) {
				t.Errorf("%s shows a secret", c.Key)
			}
		}
	}
	for _, s := range schema {
		for _, k := range s.keys {
			key := s.name + "." + k.name
			var was, is, set *Peer
			if s.name == "peer" {
				key = "peer.left." + k.name
				was, is, set = &before.Peers[0], &after.Peers[0], &settled.Peers[0]
			}
			if strings.HasSuffix(k.name, "_file") || key == "peer.left.public_key" {
				continue
			}
			if !slices.Contains(named, key) {
				t.Errorf("%s is not named", key)
			}
			want := k.value(before, was)
			if k.live {
				want = k.value(after, is)
			}
			if got := k.value(settled, set); got != want {
				t.Errorf("%s settles as %s, want %s", key, got, want)
			}
		}
	}
	if !slices.Contains(named, "peer.new") || !slices.Contains(named, "peer."+wgPairs[2].public) {
		t.Errorf("peers that come and go are not named: %q", named)
	}
	pending := Diff(settled, after)
	if len(pending) == 0 || slices.ContainsFunc(pending, func(c Change) bool { return c.Live }) {
		t.Errorf("what is left after all that is live: %v", pending)
	}
	if d := Diff(settled, settled); len(d) > 0 {
		t.Errorf("differs from itself: %v", d)
	}
}

// Changes that are possible without a restart may contradict the old values of keys that need one.
func TestSettleRefusesNonsense(t *testing.T) {
	before := parsed(t, mainPart)
	after := parsed(t, strings.Replace(mainPart, "\n\n", "\ntable = \"off\"\n\n", 1)+
		"[[peer]]\npublic_key = '$1'\nendpoints = '192.0.2.1:1'\nallowed_ips = '192.0.2.1'\n")
	if c, err := Settle(before, after); err == nil || !strings.Contains(err.Error(), "a restart is needed") {
		t.Errorf("settled as %+v, %v", c, err)
	}
}

func TestSealedReadsNoFile(t *testing.T) {
	_, err := ParseSealed("/etc/srdtun/s.toml", []byte("[interface]\nprivate_key_file = '/etc/shadow'\n"))
	if err == nil || !strings.Contains(err.Error(), "private_key_file: a configuration sent to the daemon may not name a file") {
		t.Error(err)
	}
}

func TestChangeStrings(t *testing.T) {
	before := parsed(t, mainPart+"[[peer]]\nname = 'a'\npublic_key = '$1'\n")
	after := parsed(t, mainPart+"[paths]\npolicy = 'ecmp'\n[[peer]]\nname = 'b'\npublic_key = '$2'\nallowed_ips = '10.1.0.0/16'\n")
	var got []string
	for _, c := range Diff(before, after) {
		got = append(got, c.String())
	}
	want := []string{
		`~ paths.policy = default -> "ecmp"`,
		`+ peer.b = { ` + wgPairs[2].public + `, allowed_ips 10.1.0.0/16 }`,
		`- peer.a = { ` + wgPairs[1].public + `, allowed_ips  }`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}
