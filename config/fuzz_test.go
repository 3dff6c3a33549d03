package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

func seeds(f *testing.F) {
	for _, s := range faulty {
		if len(s.doc) < 4096 {
			f.Add([]byte(withKeys(s.doc)))
		}
	}
	text, err := Template("lab")
	must(f, err)
	f.Add([]byte(strings.ReplaceAll(string(text), "_file", "")))
	f.Add([]byte(withKeys(everything)))
	f.Add([]byte("a.b=[{c='''x''',\"d\\u0041\"=\"\"\"y\"\"\"},#\n[1,2]]\n[[p]]\n[p.q]\n"))
}

// For any bytes, FuzzParse expects a valid configuration, or an error of one line that names a line
// of the file.
func FuzzParse(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if strings.Contains(string(data), "_file") {
			return // the content of other files is not part of the input
		}
		cfg, err := Parse("s.toml", data)
		if (cfg == nil) == (err == nil) {
			t.Fatalf("got %v and %v", cfg, err)
		}
		if err != nil {
			var e *Error
			if !errors.As(err, &e) {
				t.Fatalf("%T", err)
			}
			if e.Line < 1 || e.Line > 1+strings.Count(string(data), "\n") || strings.ContainsAny(e.Error(), "\n\r\x1b") {
				t.Fatalf("%q: line %d", e.Error(), e.Line)
			}
			return
		}
		if checkIfname(cfg.Interface.Name) != nil || cfg.Interface.PrivateKey.IsZero() || cfg.Interface.MTU < minMTU {
			t.Fatalf("not sound: %+v", cfg)
		}
		for _, p := range cfg.Peers {
			for _, prefix := range p.AllowedIPs {
				if prefix != prefix.Masked() || !prefix.IsValid() {
					t.Fatalf("prefix %v", prefix)
				}
			}
			for _, e := range p.Endpoints {
				if again, err := parseEndpoint(e.String()); err != nil || again != e {
					t.Fatalf("endpoint %v comes back as %v, %v", e, again, err)
				}
			}
		}
	})
}

// FuzzLocate expects marks for exactly the keys and elements that the decoder finds.
func FuzzLocate(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		doc := strings.TrimPrefix(string(data), "\ufeff")
		found := locate(doc)
		if found.deep >= 0 || found.twice.off >= 0 || firstInvalid(doc) >= 0 || firstControl(doc) >= 0 {
			return
		}
		var vals map[string]any
		if _, err := toml.Decode(doc, &vals); err != nil {
			return
		}
		if why := mismatch(vals, found.root); why != "" {
			t.Fatalf("%s\n%q", why, doc)
		}
	})
}
