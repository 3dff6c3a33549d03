package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/internal/manualtest"
)

func TestDocumentsCallWhatThereIs(t *testing.T) {
	manualtest.Check(t, "../..", "srdsim", 15, root)
}

// This program accepts the arguments with which documents call "make compare".
func TestDocumentsCompareWithWhatThereIs(t *testing.T) {
	docs, err := manualtest.Documents("../..")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for doc, text := range docs {
		for _, l := range manualtest.Lines(doc, text) {
			for _, args := range l.Calls("make") {
				if len(args) != 2 || args[0] != "compare" {
					continue
				}
				flags := strings.TrimPrefix(args[1], "COMPAREFLAGS=")
				n++
				if err := manualtest.Accepts(root, l, append([]string{"compare"}, strings.Fields(flags)...)); err != nil {
					t.Errorf("%s: %s: %v", doc, l.Text, err)
				}
			}
		}
	}
	if n < 3 {
		t.Errorf("%d comparisons: these are not the documents", n)
	}
}

// The document lists each figure of the papers, with its source and the time that it takes.
func TestDocumentsListFigures(t *testing.T) {
	page, err := os.ReadFile("../../docs/simulation.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range paperFigures {
		if row := fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.name, f.source, f.shows, f.takes); !strings.Contains(string(page), row) {
			t.Errorf("the page lacks the row %s", row)
		}
	}
}
