package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// Each bug must have exactly one place in the current code, and must change it.
func TestEveryBugCanBePlanted(t *testing.T) {
	names := map[string]bool{}
	for i, b := range bugs {
		if names[b.name] {
			t.Errorf("%d: %q is the name of two", i+1, b.name)
		}
		names[b.name] = true
		if b.old == b.new {
			t.Errorf("%d: %q changes nothing", i+1, b.name)
		}
		text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(b.file)))
		if err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(text, []byte(b.old)); n != 1 {
			t.Errorf("%d: %q: its text occurs %d times in %s", i+1, b.name, n, b.file)
		}
	}
}
