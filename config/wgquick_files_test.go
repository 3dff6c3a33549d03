package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The test imports files that programs and people wrote. The expected result of each is in a file
// beside it, followed by the notes for the user. A test in e2e checks that `srdtun check` accepts
// the result.
func TestFilesOfOthersKeepTheirMeaning(t *testing.T) {
	files, err := filepath.Glob("testdata/wgquick/*.conf")
	if err != nil || len(files) < 15 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			must(t, err)
			got, err := Import(filepath.Base(file), data, ImportOptions{Name: "wg0", Tables: map[string]uint32{"vpn": 200}})
			must(t, err)
			text := string(got.Text)
			for _, n := range got.Notes {
				text += "## " + n + "\n"
			}
			golden := strings.TrimSuffix(file, ".conf") + ".toml"
			if *update {
				must(t, os.WriteFile(golden, []byte(text), 0o600))
			}
			want, err := os.ReadFile(golden)
			must(t, err)
			if text != string(want) {
				t.Errorf("got\n%s\nwant\n%s", text, want)
			}
		})
	}
}

// In a hub of 250 clients that wireguard-install wrote, each peer gets its own name.
func TestNamesOfManyClients(t *testing.T) {
	var b strings.Builder
	b.WriteString(withKeys("[Interface]\nPrivateKey = $0\nAddress = 10.66.0.1/16\nListenPort = 61093\n"))
	for i := range 250 {
		key, err := GeneratePrivate()
		must(t, err)
		public, err := key.Public()
		must(t, err)
		fmt.Fprintf(&b, "\n### Client user%d\n[Peer]\nPublicKey = %s\nAllowedIPs = 10.66.%d.%d/32\n", i, public, i/200, i%200+2)
	}
	text, err := importText("wg0.conf", b.String())
	must(t, err)
	c, err := Parse("wg0.toml", text)
	must(t, err)
	for i, p := range c.Peers {
		if p.Name != fmt.Sprintf("user%d", i) || len(c.Peers) != 250 {
			t.Fatalf("%d of %d: %q", i, len(c.Peers), p.Name)
		}
	}
}

// The test has comments that give a peer a name, and comments that do not.
func TestPeerNamesOfComments(t *testing.T) {
	for _, c := range []struct{ above, inside, want string }{
		{"### Client alice", "", "alice"},
		{"### begin phone ###", "", "phone"},
		{"# BEGIN_PEER tv set", "", "tv set"},
		{"", "# Name = Ann's \"big\"  laptop\t", `Ann's "big" laptop`},
		{"#Name: x", "", "x"},
		{"# friendly_name=metrics-box", "", "metrics-box"},
		{"# Client: nas (9b1f6c1e-8a75-4e0b-b6f8-f0d5b1f3c2aa)", "", "nas"},
		{"# Client: nas (7)", "", "nas"},
		{"", "#_Name = backup host", "backup host"},
		{"", "# -WGP- Display Name: kiosk", "kiosk"},
		{"# Ann / ann@example.org / Updated: 2026-01-02 / Created: 2026-01-01", "", "Ann"},
		{"# gone", "", ""},
		{"", "# gone", ""},
		{"", "# NL-FREE#31", ""},
		{"# Key for phone", "", ""},
		{"# NAT-PMP = off", "", ""},
		{"# name = Stra\u00dfe\x1b[1m", "", "Stra\u00dfe[1m"},
		{"# name = \"left\"", "", "left"},
		{"# Name = " + strings.Repeat("\u00e4", 60), "", strings.Repeat("\u00e4", 31)},
		{"# the office", "", ""},
		{"# Peer", "", ""},
		{"# ----", "", ""},
		{"### end phone ###", "", ""},
		{"# name = 10.0.0.7", "", ""},
		{"# name = 10.0.0.0/24", "", "peer-10.0.0.0-24"},
		{"# name = [fd00::7]", "", "peer-fd00--7"},
		{"### Client 10.0.0.7:51820", "", "peer-10.0.0.7-51820"},
		{"# name = hub.example:51820", "", "peer-hub.example-51820"},
		{"# name = $0", "", ""},
		{"# name = ", "", ""},
	} {
		text, err := importText("wg0.conf", withKeys("[Interface]\nPrivateKey = $0\n\n"+c.above+"\n[Peer]\n"+c.inside+"\nPublicKey = $1\n"))
		if err != nil {
			t.Errorf("%q: %v", c, err)
			continue
		}
		cfg, err := Parse("wg0.toml", text)
		if err != nil || cfg.Peers[0].Name != c.want {
			t.Errorf("%q %q: name %q, want %q; %v", c.above, c.inside, cfg.Peers[0].Name, c.want, err)
		}
	}
}

// A single word below each header is a name if the words of all peers differ, as in files of algo.
func TestPeerNamesOfOneWord(t *testing.T) {
	for _, c := range []struct{ first, second, want string }{
		{"# desktop", "# user@example.org", "desktop user@example.org"},
		{"# desktop", "# gone", "desktop gone"},
		{"", "# gone", " "},
		{"# old", "# old", " "},
		{"# Name = a", "# gone", "a "},
		{"# Peer", "# Peer", " "},
	} {
		text, err := importText("wg0.conf", withKeys("[Interface]\nPrivateKey = $0\n[Peer]\n"+c.first+"\nPublicKey = $1\n[Peer]\n"+c.second+"\nPublicKey = $2\n"))
		if err != nil {
			t.Errorf("%q: %v", c, err)
			continue
		}
		cfg, err := Parse("wg0.toml", text)
		must(t, err)
		if got := cfg.Peers[0].Name + " " + cfg.Peers[1].Name; got != c.want {
			t.Errorf("%q: names %q", c, got)
		}
	}
}

// Each key of AmneziaWG 1.0 to 3.1 becomes a comment, in any section.
func TestKeysOfOtherPrograms(t *testing.T) {
	for word := range wgForeign {
		for _, section := range []string{"", "[Peer]\nPublicKey = $1\n"} {
			_, err := importText("wg0.conf", withKeys("[Interface]\nPrivateKey = $0\n"+section+word+" = on\n"))
			if err != nil {
				t.Errorf("%s in %q: %v", word, section, err)
			}
		}
	}
	got, err := Import("wg0.conf", []byte(withKeys("[Interface]\nPrivateKey = $0\nHeaderProtectionKey = $psk\n[Peer]\nPublicKey = $1\nAdvancedSecurity = on\n[Peer]\nPublicKey = $2\nAdvancedSecurity = off\n")), ImportOptions{})
	must(t, err)
	if want := []string{"wg0.conf:3: HeaderProtectionKey, AdvancedSecurity: not taken over: " + isAmnezia}; !slices.Equal(got.Notes, want) {
		t.Errorf("%q", got.Notes)
	}
	if n := strings.Count(string(got.Text), "# not taken over: "); n != 3 {
		t.Errorf("%d sections say it:\n%s", n, got.Text)
	}
}

// The error about an unknown key contains its name, unless the name may be a part of a secret.
func TestUnknownKeysAreNamed(t *testing.T) {
	for name, want := range map[string]string{
		"DisallowedIPs":         "DisallowedIPs",
		"PostQuantumHandshakes": "PostQuantumHandshakes",
		"ExcludedAddressesIPv6": "ExcludedAddressesIPv6",
		"some_other_setting":    "some_other_setting",
		"Some Other Setting":    "Some Other Setting",
		wgPairs[2].private[:43]: hidden,
		wgPairs[2].private[:20]: hidden,
	} {
		_, err := importText("wg0.conf", withKeys("[Interface]\nPrivateKey = $0\n"+name+" = 1\n"))
		if err == nil || !strings.HasPrefix(err.Error(), "wg0.conf:3: "+want+": is not a key of wg-quick(8)") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A command that consists of plain words becomes a list of words. Any other command is passed to a
// shell, as in wg-quick.
func TestHooksOfOthers(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"sysctl -w net.ipv4.ip_forward=1", []string{"sysctl", "-w", "net.ipv4.ip_forward=1"}},
		{"iptables -I OUTPUT ! -o %i -j REJECT # all else", []string{"iptables", "-I", "OUTPUT", "!", "-o", "%i", "-j", "REJECT"}},
		{"a; b", []string{"bash", "-c", "set -eo pipefail; a; b"}},
		{"a && b", []string{"bash", "-c", "a && b"}},
		{`logger "up # %i" # told`, []string{"bash", "-c", `logger "up # %i"`}},
		{"echo nameserver 10.0.0.1 | resolvconf -a tun.%i", []string{"bash", "-c", "set -eo pipefail; echo nameserver 10.0.0.1 | resolvconf -a tun.%i"}},
		{"X=1 prog", []string{"bash", "-c", "X=1 prog"}},
		{"cd /tmp", []string{"bash", "-c", "cd /tmp"}},
		{"ls *.d", []string{"bash", "-c", "ls *.d"}},
		{"nft -f <(cat /etc/a /etc/b)", []string{"bash", "-c", "nft -f <(cat /etc/a /etc/b)"}},
		{"[[ -e /x ]] && y", []string{"bash", "-c", "[[ -e /x ]] && y"}},
		{"ip link add {a,b} type dummy", []string{"bash", "-c", "ip link add {a,b} type dummy"}},
		{"(! iptables -C A -j B) && iptables -A A -j B", []string{"bash", "-c", "(! iptables -C A -j B) && iptables -A A -j B"}},
		{strings.Repeat("w ", maxWords+1), []string{"bash", "-c", strings.TrimSpace(strings.Repeat("w ", maxWords+1))}},
		{"rm !(a)", []string{"bash", "-O", "extglob", "-c", "rm !(a)"}},
		{"a || ip link set $INTERFACE up", []string{"bash", "-c", "INTERFACE='%i'; a || ip link set $INTERFACE up"}},
		{"logger INTERFACE", []string{"logger", "INTERFACE"}},
		{"disown", []string{"bash", "-c", "disown"}},
		{"wg show", nil},
		{"true; wg set %i peer x remove", nil},
		{"sudo awg addconf %i f", nil},
		{"iptables -m mark --mark $(wg show %i fwmark)", nil}, // without a default route there is no mark
		{"systemctl restart wg-metrics", []string{"systemctl", "restart", "wg-metrics"}},
	} {
		got, err := Import("wg0.conf", []byte(withKeys("[Interface]\nPrivateKey = $0\nPostUp = "+c.text+"\n")), ImportOptions{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		cfg, err := Parse("wg0.toml", got.Text)
		must(t, err)
		var words []string
		if h := cfg.Interface.Hooks.PostUp; len(h) > 0 {
			words = h[0]
		}
		if !slices.Equal(words, c.want) || len(got.Notes) != 1 {
			t.Errorf("%s: %q, want %q; %q", c.text, words, c.want, got.Notes)
		}
	}
}

// With NoHooks, the hooks are in comments, and the user can uncomment them.
func TestImportWithoutHooks(t *testing.T) {
	got, err := Import("wg0.conf", []byte(withKeys("[Interface]\nPrivateKey = $0\nPostUp = a; b\nPostUp = c\n")), ImportOptions{NoHooks: true})
	must(t, err)
	want := "# post_up = [\n#     [\"bash\", \"-c\", \"set -eo pipefail; a; b\"],\n#     [\"c\"],\n# ]\n[interface]\n"
	if !strings.HasPrefix(string(got.Text), want) || len(got.Notes) != 1 || got.Notes[0] != "wg0.conf:3: PostUp: left out because of --no-hooks" {
		t.Errorf("%s\n%q", got.Text, got.Notes)
	}
}

// The manual of wg-quick(8) shows how a hook can set the key, so that it is not in the file.
func TestKeyThatAHookGives(t *testing.T) {
	const doc = "[Interface]\nPreUp = "
	for hook, want := range map[string]string{
		"wg set %i private-key /etc/wireguard/%i.key":        `private_key_file = "/etc/wireguard/wg0.key"`,
		"wg set %i private-key <(cat /some/path/%i/privkey)": `private_key_file = "/some/path/wg0/privkey"`,
	} {
		text, err := importText("wg0.conf", doc+hook+"\n")
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v\n%s", hook, err, text)
		}
	}
	_, err := importText("wg0.conf", doc+"wg set %i private-key <(pass WireGuard/private-keys/%i)\n")
	if want := "wg0.conf:2: PreUp: gives the private key by a command, which import does not run; write the key to root's file with mode 0600 and say here: wg set %i private-key FILE"; err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
}

// A message shows the path of a key file, which is no secret. A key in its place stays hidden.
func TestImportShowsThePathOfAKeyFile(t *testing.T) {
	for file, want := range map[string]string{
		"/etc/wireguard/keys/%i.key":  "wg0.conf:2: PostUp: the private key is read from the file /etc/wireguard/keys/wg0.key",
		"/var/lib/wireguard/private":  "wg0.conf:2: PostUp: the private key is read from the file /var/lib/wireguard/private",
		"/" + wgPairs[0].private[:43]: `wg0.conf:2: PostUp: the private key is read from the file (hidden)`,
	} {
		got, err := Import("wg0.conf", []byte("[Interface]\nPostUp = wg set %i private-key "+file+"\n"), ImportOptions{Name: "wg0"})
		if err != nil || !slices.Contains(got.Notes, want) {
			t.Errorf("%s: %v, %q without %s", file, err, got.Notes, want)
		}
	}
	for file, want := range map[string]string{
		"wireguard/keys/of/this/host/%i.key": "wireguard/keys/of/this/host/wg0.key",
		wgPairs[0].private:                   `"(hidden)"`,
		wgPairs[0].private[:43]:              "(hidden)",
	} {
		_, err := importText("wg0.conf", "[Interface]\nPostUp = wg set %i private-key "+file+"\n")
		if want := "wg0.conf:2: PostUp: the key file " + want + " must be named from / on"; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
}

// Comments stay with the peer to which they belong.
func TestCommentsStayWithTheirPeer(t *testing.T) {
	text, err := importText("wg0.conf", withKeys(`# of the file

[Interface]
PrivateKey = $0
ListenPort = 1
# below the interface

### begin a b ###
[Peer] # beside a
PublicKey = $1
# inside a
AllowedIPs = 10.0.0.1
### end a b ###
# above c d
[Peer]
PublicKey = $2

# taken out
#[Peer]
#PublicKey = $3
#AllowedIPs = 10.0.0.3
# above the last
[Peer]
PublicKey = $3

# at the end
`))
	want := withKeys(`# of the file

# below the interface
[interface]
private_key = "$0"
listen_port = 1

### begin a b ###
# beside a
# inside a
### end a b ###
[[peer]]
name = "a b"
public_key = "$1"
allowed_ips = ["10.0.0.1/32"]

# above c d
[[peer]]
public_key = "$2"

# taken out
# [Peer]
# PublicKey = $3
# AllowedIPs = 10.0.0.3

# above the last
[[peer]]
public_key = "$3"

# at the end
`)
	if err != nil || string(text) != want {
		t.Errorf("%v: got\n%s\nwant\n%s", err, text, want)
	}
}

// As in wg(8), a later line overrides an earlier one.
func TestLaterCounts(t *testing.T) {
	got, err := Import("wg0.conf", []byte(withKeys(`[Interface]
PrivateKey = $0
MTU = 1400
MTU = 1500
[Peer]
PublicKey = $1
AllowedIPs = 10.1.0.0/16, 10.2.0.0/16
Endpoint = a.example:1
[Peer]
PublicKey = $2
AllowedIPs = 10.2.3.4/16
[Peer]
PublicKey = $1
AllowedIPs = +10.3.0.0/16, 10.4.0.0/16, -10.4.0.0/16
Endpoint = b.example:2
`)), ImportOptions{})
	must(t, err)
	c, err := Parse("wg0.toml", got.Text)
	must(t, err)
	if p := c.Peers[0]; len(c.Peers) != 2 || c.Interface.MTU != 1500 || fmt.Sprint(p.AllowedIPs, p.Endpoints) != "[10.3.0.0/16] [b.example:2]" ||
		fmt.Sprint(c.Peers[1].AllowedIPs) != "[10.2.0.0/16]" {
		t.Errorf("%+v", c.Peers)
	}
	want := []string{
		"wg0.conf:4: MTU: is given again, after line 3; the later one counts, as with wg-quick",
		"wg0.conf:12: [Peer]: has the key of the peer of line 5; the later one counts, as with wg",
	}
	if !slices.Equal(got.Notes, want) {
		t.Errorf("%q", got.Notes)
	}
}

// If two sections have the same key, the peer has the name and the prefixes of the later section.
func TestNameOfThePeerThatCounts(t *testing.T) {
	for names, want := range map[[2]string]string{
		{"# Client: alice\n", "# Client: bob\n"}:   "bob",
		{"# Client: alice\n", "# Client: alice\n"}: "alice",
		{"# Client: alice\n", ""}:                  "alice",
		{"", "# Client: bob\n"}:                    "bob",
	} {
		text, err := importText("wg0.conf", withKeys("[Interface]\nPrivateKey = $0\n\n"+
			names[0]+"[Peer]\nPublicKey = $1\nAllowedIPs = 10.1.0.0/16\n\n"+
			names[1]+"[Peer]\nPublicKey = $1\nAllowedIPs = 10.2.0.0/16\n\n# Client: carol\n[Peer]\nPublicKey = $2\n"))
		must(t, err)
		c, err := Parse("wg0.toml", []byte(text))
		if err != nil || len(c.Peers) != 2 || c.Peers[0].Name != want || fmt.Sprint(c.Peers[0].AllowedIPs) != "[10.2.0.0/16]" || c.Peers[1].Name != "carol" {
			t.Errorf("%q: %v\n%s", names, err, text)
		}
		if !strings.Contains(string(text), "[[peer]]\nname = ") {
			t.Errorf("%q: the name is not the first key:\n%s", names, text)
		}
	}
}
