package tree

import (
	"go/ast"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/internal/manualtest"
)

// Every code block in a document for users is run by a test, or the table states why not.
func TestBlocksOfDocumentsAreRun(t *testing.T) {
	used := map[*manualtest.Run]bool{}
	for doc, text := range documents(t) {
		if !manualtest.ForUsers(doc) {
			continue
		}
		blocks, _ := manualtest.Split(doc, text)
		for _, b := range blocks {
			if r := manualtest.RowOf(b); r == nil {
				t.Errorf("%s: internal/manualtest/table.go has no row for the block that begins with %q", doc, b.First())
			} else {
				used[r] = true
			}
		}
	}
	tests := map[string]bool{}
	for _, s := range tree(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test {
				tests[f.Name.Name] = true
			}
		}
	}
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	for i := range manualtest.Table {
		r := &manualtest.Table[i]
		if !used[r] {
			t.Errorf("%s has no block that begins with %q any more", r.Doc, r.First)
		}
		name, isTarget := strings.CutPrefix(r.By, "make ")
		switch {
		case r.By == "" && r.Why == "":
			t.Errorf("%s: %q: neither a test nor a reason", r.Doc, r.First)
		case isTarget && !regexp.MustCompile(`(?m)^`+name+`:`).Match(makefile), !isTarget && r.By != "" && !tests[r.By]:
			t.Errorf("%s: %q: there is no %s", r.Doc, r.First, r.By)
		}
	}
}
