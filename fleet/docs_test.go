package fleet

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/internal/manualtest"
)

// The lists in docs/fleet.md are valid once keys are inserted.
func TestListsInDocument(t *testing.T) {
	text, err := os.ReadFile("../docs/fleet.md")
	must(t, err)
	keys := []string{"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE=", "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAI="}
	lists := 0
	blocks, _ := manualtest.Split("docs/fleet.md", string(text))
	for _, b := range blocks {
		if r := manualtest.RowOf(b); r == nil || r.By != t.Name() {
			continue
		}
		lists++
		list, _, _ := strings.Cut(b.Text, "\n\n") // another test checks the command after it
		for _, k := range keys {
			list = strings.Replace(list, " KEY ", " "+k+" ", 1)
		}
		if got, err := ParseAllowList([]byte(list + "\n")); err != nil {
			t.Errorf("%v\n%s", err, list)
		} else if strings.Count(list, "\n") != len(keys) || got == nil {
			t.Errorf("not %d members:\n%s", len(keys), list)
		}
	}
	if lists != 1 {
		t.Errorf("%d allow lists", lists)
	}
	deny := regexp.MustCompile("`((?:KEY|\\*)(?: before [^`]+)?)`").FindAllStringSubmatch(string(text), -1)
	for _, m := range deny {
		line := strings.NewReplacer("KEY", keys[0], "TIME", "2026-12-01T00:00:00Z").Replace(m[1])
		if _, err := ParseDenyList([]byte(line + "\n")); err != nil {
			t.Errorf("%s: %v", m[1], err)
		}
	}
	if len(deny) < 3 {
		t.Errorf("%d lines of a deny list", len(deny))
	}
}
