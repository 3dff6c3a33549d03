package steer

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The first table of docs/policies.md has every policy and links to a heading with a
// picture.
func TestPoliciesAreDocumented(t *testing.T) {
	b, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]string{}
	for _, s := range strings.Split(string(b), "\n## ")[1:] {
		title, text, _ := strings.Cut(s, "\n")
		sections[strings.ReplaceAll(strings.ToLower(title), " ", "-")] = text
	}
	row := regexp.MustCompile("(?m)^\\| \\[`([a-z-]+)`\\]\\(#([a-z-]+)\\) \\|")
	listed := map[string]string{}
	for _, m := range row.FindAllStringSubmatch(string(b), -1) {
		listed[m[1]] = m[2]
	}
	for _, name := range Names() {
		text, ok := sections[listed[name]]
		if !ok || !strings.Contains(text, "\n    ") {
			t.Errorf("%s: the table leads to %q, which is no heading with a picture", name, listed[name])
		}
	}
	if len(listed) != len(Names()) {
		t.Errorf("the table has %d policies, there are %d", len(listed), len(Names()))
	}
}
