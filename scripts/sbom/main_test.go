package main

import (
	"debug/buildinfo"
	"encoding/json"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

// The bill of materials of this test program must list its modules.
func TestDescribe(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	info.Deps = []*debug.Module{
		{Path: "example.org/a", Version: "v1.0.0", Sum: "h1:x="},
		{Path: "example.org/b", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}},
	}
	b := describe(info, [32]byte{1})
	if len(b.Components) != len(info.Deps)+1 {
		t.Errorf("%d components of %d modules", len(b.Components), len(info.Deps))
	}
	if !slices.ContainsFunc(b.Components, func(c component) bool { return c.Name == "std" && strings.HasPrefix(c.Version, "go1.") }) {
		t.Error("the standard library is missing")
	}
	if got := b.Components[2].PURL; got != "pkg:golang/example.org/c@v2.0.0" {
		t.Errorf("%s in place of what replaces it", got)
	}
	if h := b.Metadata.Component.Hashes; len(h) != 1 || !strings.HasPrefix(h[0].Content, "0100") {
		t.Errorf("hashes %v", h)
	}
	if _, err := json.Marshal(b); err != nil {
		t.Error(err)
	}
}
