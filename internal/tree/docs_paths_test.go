package tree

import (
	"go/ast"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/internal/manualtest"
)

var (
	// inTree is a file or folder of the tree in a line of code. It begins with a top
	// folder and is not part of another path.
	inTree = regexp.MustCompile(`(?:^|[\s"'(=:,])(?:\./)?((?:bench|cmd|config|contrib|docs|e2e|fleet|internal|lab|overlay|packaging|scripts|sim|srd|systemd)/[A-Za-z0-9_./@*{},-]*)`)
	// revision is git's prefix for a file of an older tree.
	revision = regexp.MustCompile(`\b[0-9a-f]{7,40}:[A-Za-z0-9_./-]+`)
	// testName is the name of a test or fuzz target in a sentence.
	testName = regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z][A-Za-z0-9]*`)
)

// standsFor lists placeholder names, each for any file of its kind.
var standsFor = []string{"lab/plans/X.toml"}

// records reports whether a document describes the past, with the file names of that
// time.
func records(name string) bool { return name == "CHANGELOG.md" }

func TestFilesThatDocumentsNameExist(t *testing.T) {
	n := 0
	for name, text := range documents(t) {
		if records(name) {
			continue
		}
		for _, l := range manualtest.Lines(name, text) {
			for _, m := range inTree.FindAllStringSubmatch(revision.ReplaceAllString(l.Text, ""), -1) {
				file := strings.TrimRight(m[1], ".,/")
				if slices.Contains(standsFor, file) || strings.ContainsAny(file, "{}") {
					continue
				}
				n++
				// A path may be relative to the document, and be a pattern.
				there, _ := filepath.Glob(file)
				near, _ := filepath.Glob(path.Join(path.Dir(name), file))
				if len(there)+len(near) == 0 {
					t.Errorf("%s names %s, which is not there", name, file)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("%d files: these are not the documents", n)
	}
}

// A test that a document names exists. If the name is a pattern or ends in an ellipsis, a
// test with that beginning exists.
func TestTestsThatDocumentsNameExist(t *testing.T) {
	have := map[string]bool{}
	starts := func(p string) bool {
		for name := range have {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	}
	for _, s := range tree(t) {
		for _, d := range s.ast.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test {
				have[f.Name.Name] = true
			}
		}
	}
	n := 0
	for name, text := range documents(t) {
		if records(name) {
			continue
		}
		for _, l := range manualtest.Lines(name, text) {
			for _, at := range testName.FindAllStringIndex(l.Text, -1) {
				n++
				call, rest := l.Text[at[0]:at[1]], l.Text[at[1]:]
				pattern := strings.HasPrefix(rest, "…") || slices.Contains([]string{"-run", "-bench"}, before(l.Text[:at[0]]))
				if call != "TestName" && !have[call] && (!pattern || !starts(call)) {
					t.Errorf("%s names %s, which is not there", name, call)
				}
			}
		}
	}
	if n < 100 {
		t.Errorf("%d tests: these are not the documents", n)
	}
}

// before returns the last word of text.
func before(text string) string {
	words := strings.Fields(strings.TrimRight(text, "'^\""))
	if len(words) == 0 {
		return ""
	}
	return words[len(words)-1]
}
