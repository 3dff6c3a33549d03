package config

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// commented is a configuration file with comments, as people write it.
const commented = `# top
[interface] # the device
private_key = "$0"   # secret
#mtu = 1500
address = [
  "10.0.0.1/24", # first
]

# the first one
[[peer]]
name = "a.b"
public_key = "$1"
endpoints = ["192.0.2.1:1"] # old
# the second
[[peer]]
public_key = "$2"
#[[peer]]
#allowed_ips = ["10.2.0.0/16"]
`

func TestEdit(t *testing.T) {
	for _, e := range []struct{ name, key, value, from, to string }{
		{"replaced", "peer.a.b.endpoints", `["192.0.2.7:7"]`, `["192.0.2.1:1"] # old`, `["192.0.2.7:7"] # old`},
		{"bare text", "peer.a.b.endpoints", `192.0.2.7:7`, `["192.0.2.1:1"] # old`, `"192.0.2.7:7" # old`},
		{"bare list", "peer.a.b.endpoints", `192.0.2.7:7,h:8`, `["192.0.2.1:1"] # old`, `["192.0.2.7:7", "h:8"] # old`},
		{"several lines", "interface.address", "10.0.0.9/24", "[\n  \"10.0.0.1/24\", # first\n]", `"10.0.0.9/24"`},
		{"behind its example", "interface.mtu", "1400", "#mtu = 1500\n", "#mtu = 1500\nmtu = 1400\n"},
		{"without an example", "interface.workers", "2", "# the device\n", "# the device\nworkers = 2\n"},
		{"by public key", "peer.$2.allowed_ips", "10.1.0.0/16", "\"$2\"\n#", "\"$2\"\n#"},
		{"new section", "paths.policy", "ecmp", "# the first one\n", "[paths]\npolicy = \"ecmp\"\n\n# the first one\n"},
		{"bare numbers", "paths.weights", "3, 1", "# the first one\n", "[paths]\nweights = [3, 1]\n\n# the first one\n"},
		{"a bare number", "paths.weights", "3", "# the first one\n", "[paths]\nweights = [3]\n\n# the first one\n"},
		{"taken out", "peer.a.b.endpoints", "", "endpoints = [\"192.0.2.1:1\"] # old\n", ""},
		{"not there", "peer.a.b.allowed_ips", "", "", ""},
	} {
		got, err := Edit([]byte(withKeys(commented)), []Setting{{withKeys(e.key), e.value}})
		if err != nil {
			t.Errorf("%s: %v", e.name, err)
			continue
		}
		want := withKeys(strings.Replace(commented, e.from, e.to, 1))
		if e.name == "by public key" {
			want = withKeys(strings.Replace(commented, "[[peer]]\npublic_key = \"$2\"", "[[peer]]\nallowed_ips = \"10.1.0.0/16\"\npublic_key = \"$2\"", 1))
		}
		if string(got) != want {
			t.Errorf("%s:\n%s\nwant\n%s", e.name, got, want)
		}
	}
}

func TestEditFaults(t *testing.T) {
	for _, e := range []struct{ doc, key, value, want string }{
		{commented, "", "1", `"" is not a key`},
		{commented, "policy", "1", `"policy" is not a key`},
		{commented, "paths.polcy", "1", `"paths.polcy" is not a key; the nearest is policy in [paths]`},
		{commented, "peer.c.policy", "ecmp", `no peer is named "c"`},
		{commented, "peer.xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Lg=.policy", "ecmp", `no peer is named "(hidden)": a public key has one spelling, as srdtun show prints it`},
		{commented, "peer.xTIBA5rboUvnH4htodjb6e697QjLERt1NAB4mZqp8Dg.policy", "ecmp", `no peer is named "(hidden)": a public key has one spelling, as srdtun show prints it`},
		{commented, "peer..policy", "ecmp", `no peer is named ""`},
		{commented, "paths.policy", "a\nb", `policy: a value has one line`},
		{"paths = { mtu = 0 }\n", "paths.policy", "ecmp", `add policy = "ecmp" by hand`},
		{"x = [", "paths.policy", "ecmp", `not valid TOML`},
	} {
		_, err := Edit([]byte(withKeys(e.doc)), []Setting{{e.key, e.value}})
		if err == nil || !strings.Contains(err.Error(), e.want) {
			t.Errorf("%q = %q: %v, want %s", e.key, e.value, err, e.want)
		}
	}
}

// After any setting, the text gives the same configuration as before, except for that key.
func TestEditKeepsTheRest(t *testing.T) {
	text, err := Template("lab")
	must(t, err)
	docs := []string{string(text), withKeys(everything), withKeys(commented), withKeys(mainPart) + "[[peer]]\nname = 'left'\npublic_key = '" + wgPairs[1].public + "'"}
	settings := []Setting{
		{"interface.mtu", "1400"}, {"interface.mtu", ""}, {"paths.policy", "ecmp"}, {"paths.mtu", "1300"}, {"order.udp", "unordered"},
		{"peer.left.persistent_keepalive", "7"}, {"peer.left.allowed_ips", "10.9.0.0/16,10.8.0.0/16"}, {"interface.address", "10.0.0.7/24"},
		{"transport.cipher", "aes-128-gcm"}, {"peers.dir", "/x.d"}, {"interface.post_up", `["ip", "link"]`}, {"paths.dre_alpha", "0.5"},
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(docs).Draw(t, "doc")
		for range 4 {
			before, err := Parse("lab.toml", []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			s := rapid.SampledFrom(settings).Draw(t, "setting")
			after, err := Edit([]byte(text), []Setting{s})
			if err != nil {
				if strings.Contains(err.Error(), "no peer is named") {
					continue
				}
				t.Fatal(err)
			}
			c, err := Parse("lab.toml", after)
			if err != nil {
				t.Fatalf("%v: %v\n%s", s, err, after)
			}
			for _, d := range Diff(before, c) {
				if d.Key != s.Key && !strings.HasSuffix(d.Key, ".policy") {
					t.Fatalf("%v changes %v\n%s", s, d, after)
				}
			}
			text = string(after)
		}
	})
}

// With returns a configuration for the daemon. Its faults name the key, but no line.
func TestWith(t *testing.T) {
	c := whole(t)
	c.Peers = append(c.Peers, Peer{PublicKey: key(t, wgPairs[3].public), Name: "drop", Policy: "conga", File: "/x.d/drop.toml"})
	next, err := With(c, []Setting{{"paths.policy", "presto"}, {"peer.drop.endpoints", "192.0.2.9:1"}})
	must(t, err)
	for _, p := range next.Peers {
		if p.Policy != "presto" {
			t.Errorf("peer %s has %s", p.Title(), p.Policy)
		}
	}
	if p := next.Peers[2]; p.File != "/x.d/drop.toml" || len(p.Endpoints) != 1 || c.Peers[0].Policy != "letflow" {
		t.Errorf("got %+v", p)
	}
	_, err = With(c, []Setting{{"peer.left.allowed_ips", "10.300.0.0/16"}})
	if err == nil || err.Error() != `peer.allowed_ips: "10.300.0.0/16": not an IP prefix; want address/length` {
		t.Error(err)
	}
	_, err = With(c, []Setting{{"paths.local", strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1)}})
	if err == nil || !strings.HasPrefix(err.Error(), "nested deeper than ") {
		t.Error(err)
	}
}

// A setting can name a peer by an address inside the tunnel, as `srdtun ping` and `srdtun show`
// can.
func TestSettingByInnerAddress(t *testing.T) {
	c := parsed(t, mainPart+"[[peer]]\nname = 'wide'\npublic_key = '$1'\nallowed_ips = ['10.80.0.0/24', 'fd80::/64']\n"+
		"[[peer]]\nname = 'one'\npublic_key = '$2'\nallowed_ips = ['10.80.0.2/32', 'fd80::2/128']\n[[peer]]\nname = '10.80.0.9.example'\npublic_key = '$3'\n")
	for who, want := range map[string]int{"10.80.0.2": 1, "10.80.0.3": 0, "fd80::2": 1, "fd80::3": 0, "10.80.0.9": 0, "10.80.0.9.example": 2, "one": 1} {
		got, err := With(c, []Setting{{Key: "peer." + who + ".policy", Value: "ecmp"}})
		if err != nil {
			t.Errorf("%s: %v", who, err)
			continue
		}
		for i := range got.Peers {
			if (got.Peers[i].Policy == "ecmp") != (i == want) {
				t.Errorf("%s: peer %d has %s", who, i, got.Peers[i].Policy)
			}
		}
	}
	if _, err := With(c, []Setting{{Key: "peer.10.99.0.1.policy", Value: "ecmp"}}); err == nil || err.Error() != `no peer is named "10.99.0.1"` {
		t.Errorf("%v", err)
	}
}

// `srdtun set` and `srdtun check` suggest the same section for a misplaced key.
func TestSettingThatIsNoKeyIsCorrected(t *testing.T) {
	c := parsed(t, mainPart+"[[peer]]\nname = 'hub'\npublic_key = '$1'\n")
	for key, want := range map[string]string{
		"interface.policy":        `"interface.policy" is not a key; the nearest is policy in [paths]: paths.policy`,
		"interface.endpoint":      `"interface.endpoint" is not a key; the nearest is endpoints in [[peer]]: peer.NAME.endpoints`,
		"paths.listenport":        `"paths.listenport" is not a key; the nearest is listen_port in [interface]: interface.listen_port`,
		"paths.adress":            `"paths.adress" is not a key; the nearest is address in [interface]: interface.address`,
		"paths.bogus":             `"paths.bogus" is not a key; no key of [paths] is similar`,
		"path.bogus":              `"path.bogus" is not a key; keys look like paths.policy and peer.NAME.endpoints`,
		"paths.polcy":             `"paths.polcy" is not a key; the nearest is policy in [paths]`,
		"peer.hub.address":        `"peer.hub.address" is not a key; the nearest is address in [interface]: interface.address`,
		"peer.hub.AllowedIPs":     `"peer.hub.AllowedIPs" is not a key; the nearest is allowed_ips in [[peer]]`,
		"peer.hub.keepalive":      `"peer.hub.keepalive" is not a key; the nearest is persistent_keepalive in [[peer]]`,
		"peer.hub.private_key":    `"peer.hub.private_key" is not a key; ` + insteadOfPrivate,
		"peer.endpoints":          `"peer.endpoints" names no peer; write peer.NAME.endpoints`,
		"hub.endpoints":           `"hub.endpoints" is not a key; write peer.hub.endpoints`,
		"hub.policy":              `"hub.policy" is not a key; write peer.hub.policy`,
		"pear.hub.endpoints":      `"pear.hub.endpoints" is not a key; write peer.pear.hub.endpoints`,
		"path.policy":             `"path.policy" is not a key; write paths.policy`,
		"interfaces.adress":       `"interfaces.adress" is not a key; write interface.address`,
		"policy":                  `"policy" is not a key; write paths.policy`,
		"mtu":                     `"mtu" is not a key; write interface.mtu`,
		"allowedips":              `"allowedips" is not a key; write peer.NAME.allowed_ips`,
		"zzzzzzzzzz":              `"zzzzzzzzzz" is not a key; keys look like paths.policy and peer.NAME.endpoints`,
		"zzzzzzzzzz.yyyyyyyyyyyy": `"zzzzzzzzzz.yyyyyyyyyyyy" is not a key; keys look like paths.policy and peer.NAME.endpoints`,
	} {
		if _, err := With(c, []Setting{{Key: key, Value: "1"}}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", key, err, want)
		}
	}
}

// The error about an invalid value says which value is wanted. A value on a command line has no
// quotes, and a number has no unit.
func TestSettingSaysWhatValueItWants(t *testing.T) {
	c := parsed(t, mainPart+"[[peer]]\nname = 'hub'\npublic_key = '$1'\n")
	for setting, want := range map[string]string{
		"paths.flowlet_timeout=500":         `paths.flowlet_timeout: want a time with its unit, such as "500us" or "13ms", not "500"`,
		"paths.flowlet_timeout=1h":          `paths.flowlet_timeout: 1h0m0s is out of bounds; want 10µs to 10s`,
		"paths.policy=5":                    `paths.policy: unknown policy "5"; known: ` + list(Policies),
		"paths.primary=true":                `paths.primary: "true" is not listed in local`,
		"paths.link_mbit=100M":              `paths.link_mbit: want a whole number of Mbit/s from 0 to 1000000, without quotes, not "100M"`,
		"paths.flowcell=64k":                `paths.flowcell: want a whole number of bytes from 1500 to 67108864, without quotes, not "64k"`,
		"paths.flowcell=64":                 `paths.flowcell: 64 is out of bounds; want 1500 to 67108864 bytes`,
		"paths.dre_alpha=half":              `paths.dre_alpha: want a number from 0.01 to 0.99, without quotes, not "half"`,
		"peer.hub.persistent_keepalive=25s": `peer.persistent_keepalive: want a whole number of seconds from 0 to 65535 or "off", not "25s"`,
		"peer.hub.expires=tomorrow":         `peer.expires: "tomorrow": want a time with its zone, such as 2026-12-01T00:00:00Z`,
		"peer.hub.expires=2026-12-01":       `peer.expires: want a time with its zone, such as 2026-12-01T00:00:00Z`,
		"peer.hub.expires=5":                `peer.expires: want a time with its zone, such as 2026-12-01T00:00:00Z, not an integer`,
		"peer.hub.endpoints=5":              `peer.endpoints: "5": the port is missing; want host:port`,
		"peer.hub.allowed_ips=10":           `peer.allowed_ips: "10": not an IP prefix; want address/length`,
		"interface.mtu=1400B":               `interface.mtu: want a whole number of bytes from 1280 to 65520, without quotes, not "1400B"`,
	} {
		key, value, _ := strings.Cut(setting, "=")
		if _, err := With(c, []Setting{{Key: key, Value: value}}); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", setting, err, want)
		}
	}
	for _, setting := range []string{"peer.hub.name=123", "peer.hub.name=2026", `paths.policy="ecmp"`, "paths.local=192.0.2.1", "paths.local=5", "peer.hub.allowed_ips=[\"10.0.0.0/8\"]"} {
		key, value, _ := strings.Cut(setting, "=")
		if _, err := With(c, []Setting{{Key: key, Value: value}}); err != nil {
			t.Errorf("%s: %v", setting, err)
		}
	}
}
