package tree

import (
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/srdtun/srdtun/internal/manualtest"
)

// documents returns the text of every Markdown file in the tree, by its path from the
// top.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all, err := manualtest.Documents(".")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	// link is the target of a Markdown link or picture.
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	// elsewhere is a target outside the tree.
	elsewhere = regexp.MustCompile(`^[a-z]+:`)
	// heading is a line from which GitHub makes an anchor.
	heading = regexp.MustCompile(`(?m)^#+ +(.+)$`)
)

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	docs := documents(t)
	for name, text := range docs {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if elsewhere.MatchString(m[1]) {
				continue
			}
			file, fragment, _ := strings.Cut(m[1], "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if _, err := os.Stat(to); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", name, m[1])
			} else if fragment != "" && strings.HasSuffix(to, ".md") && !anchors(docs[to])[fragment] {
				t.Errorf("%s: %s has no heading for #%s", name, to, fragment)
			}
		}
	}
}

// anchors returns the fragments that GitHub makes from the headings of a text: lower
// case, no punctuation, a dash for each space.
func anchors(text string) map[string]bool {
	v := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		v[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, m[1])] = true
	}
	return v
}

var (
	// document is the name of a file in docs/, in a comment or a message.
	document = regexp.MustCompile(`\bdocs/[A-Za-z0-9/._-]+\.(?:md|svg|png)\b`)
	// command is a call of make in a text.
	command = regexp.MustCompile(`\bmake ([a-z][a-z-]*[a-z])\b`)
	// target is a rule of the Makefile.
	target = regexp.MustCompile(`(?m)^([a-z][a-z -]*):`)
)

func TestDocumentsThatAreNamedExist(t *testing.T) {
	for _, s := range tree(t) {
		b, err := os.ReadFile(s.file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range document.FindAllString(string(b), -1) {
			if _, err := os.Stat(name); err != nil {
				t.Errorf("%s names %s, which is not there", s.file, name)
			}
		}
	}
}

func TestTargetsThatAreNamedExist(t *testing.T) {
	b, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, m := range target.FindAllStringSubmatch(string(b), -1) {
		for name := range strings.FieldsSeq(m[1]) {
			have[name] = true
		}
	}
	for name, text := range documents(t) {
		// Only text in code style counts, because "make sure" is English.
		for _, l := range manualtest.Lines(name, text) {
			for _, c := range command.FindAllStringSubmatch(l.Text, -1) {
				if !have[c[1]] {
					t.Errorf("%s: the Makefile has no target %s", name, c[1])
				}
			}
		}
	}
}
