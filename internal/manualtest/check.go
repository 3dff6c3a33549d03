package manualtest

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// past reports whether a document describes the past, so that it may contain commands that no
// longer exist.
func past(doc string) bool { return doc == "CHANGELOG.md" }

// Check checks every call of a program, in the documents and examples below the folder top,
// against the program's commands. Check fails if there are fewer than atLeast calls.
func Check(t *testing.T, top, program string, atLeast int, root func() *cobra.Command) {
	t.Helper()
	docs, err := Documents(top)
	if err != nil {
		t.Fatal(err)
	}
	lines, err := Examples(top)
	if err != nil {
		t.Fatal(err)
	}
	for doc, text := range docs {
		if !past(doc) {
			lines = append(lines, Lines(doc, text)...)
		}
	}
	calls := 0
	for _, l := range lines {
		for _, args := range l.Calls(program) {
			calls++
			if err := Accepts(root, l, args); err != nil {
				t.Errorf("%s: %s: %v", l.Doc, l.Text, err)
			}
		}
	}
	if calls < atLeast {
		t.Errorf("%d calls of %s, want %d: these are not the documents", calls, program, atLeast)
	}
}

// CheckShort checks the calls without the program's name that consist of a command with a flag,
// such as `show --json`. It is only for a program whose commands exist in no other program.
func CheckShort(t *testing.T, top string, atLeast int, root func() *cobra.Command) {
	t.Helper()
	docs, err := Documents(top)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, c := range root().Commands() {
		names[c.Name()] = true
	}
	spans := 0
	for doc, text := range docs {
		if past(doc) || doc == "docs/fleet.md" { // its programs have other commands
			continue
		}
		for _, l := range Lines(doc, text) {
			w := Words(l.Text)
			if l.Block || len(w) < 2 || !names[w[0]] || !strings.HasPrefix(w[1], "-") {
				continue
			}
			spans++
			if err := Accepts(root, l, w); err != nil {
				t.Errorf("%s: %s: %v", doc, l.Text, err)
			}
		}
	}
	if spans < atLeast {
		t.Errorf("%d spans, want %d: these are not the documents", spans, atLeast)
	}
}
