package config

import (
	"regexp"
	"strings"
	"testing"
)

func TestTemplateRoundTrip(t *testing.T) {
	for _, name := range []string{"lab", "a'b", `a'"\b`, "eth0.1", "...", "abcdefghijklmno"} {
		text, err := Template(name)
		must(t, err)
		cfg, err := Parse("another.toml", text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		public, err := cfg.Interface.PrivateKey.Public()
		if err != nil || cfg.Interface.Name != name || len(cfg.Interface.Address) != 1 || len(cfg.Peers) != 0 {
			t.Errorf("%s: got %+v, %v", name, cfg, err)
		}
		if !strings.Contains(string(text), "#   "+public.String()+"\n") {
			t.Errorf("%s: the public key %s is not in the comments", name, public)
		}
		again, err := Template(name)
		if err != nil || string(again) == string(text) {
			t.Errorf("%s: the same key again, %v", name, err)
		}
	}
}

func TestTemplateRefusesBadNames(t *testing.T) {
	for _, name := range []string{"", "a/b", "a\nb", "abcdefghijklmnop", "interfaces"} {
		if text, err := Template(name); err == nil {
			t.Errorf("%q gives %s", name, text)
		}
	}
}

// TestTemplateHasEveryKey uncomments the examples. Every key of the schema must occur, and the
// shown values must be valid.
func TestTemplateHasEveryKey(t *testing.T) {
	text, err := Template("lab")
	must(t, err)
	doc := regexp.MustCompile(`(?m)^#(\w+ = |\[\[)`).ReplaceAllString(string(text), "$1")
	doc = strings.Replace(doc, "what `srdtun pubkey` prints there", wgPairs[0].public, 1)
	doc = strings.Replace(doc, "preshared_key = \"what `srdtun genpsk` printed\"", `preshared_key = "`+wgPairs[1].private+`"`, 1)
	cfg, err := Parse("lab.toml", []byte(doc))
	must(t, err)
	if len(cfg.Peers) != 1 || len(cfg.Peers[0].Endpoints) != 2 || len(cfg.Paths.Local) != 2 {
		t.Errorf("got %+v", cfg)
	}
	for _, s := range schema {
		for _, key := range s.names() {
			if !strings.Contains(doc, key+" = ") {
				t.Errorf("%s.%s is missing", s.name, key)
			}
		}
	}
}

// TestTemplateShowsDefaults compares the values in the comments with the defaults of
// missing keys.
func TestTemplateShowsDefaults(t *testing.T) {
	text, err := Template("lab")
	must(t, err)
	bare, err := Parse("lab.toml", text)
	must(t, err)
	before, _, _ := strings.Cut(string(text), "#[[peer]]")
	doc := regexp.MustCompile(`(?m)^#(mtu|fwmark|table|workers|offload|source_ports|policy|link_mbit|cipher|udp)( = )`).ReplaceAllString(before, "$1$2")
	full, err := Parse("lab.toml", []byte(doc))
	must(t, err)
	if bare.Interface.MTU != full.Interface.MTU || bare.Interface.FwMark != full.Interface.FwMark ||
		bare.Interface.Table != full.Interface.Table || bare.Interface.Workers != full.Interface.Workers || bare.Interface.NoOffload != full.Interface.NoOffload || bare.Paths.SourcePorts != full.Paths.SourcePorts ||
		bare.Paths.Policy != full.Paths.Policy || bare.Paths.PathMTU != full.Paths.PathMTU ||
		bare.Transport != full.Transport || bare.Order != full.Order {
		t.Errorf("without %+v\nwith %+v", bare, full)
	}
}
