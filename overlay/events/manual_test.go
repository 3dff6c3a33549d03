package events

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the manual's table anew")

const (
	manual = "../../docs/events.md"
	// begin and end are the lines before and after the table in the manual.
	begin = "<!-- kinds: `go test ./overlay/events -update` writes this table. -->\n"
	end   = "<!-- end -->\n"
)

// table returns the manual's table of kinds.
func table() string {
	var b strings.Builder
	b.WriteString("| kind | level | what has happened | what to do |\n| --- | --- | --- | --- |\n")
	for _, a := range All {
		level := a.Level.String()
		if roaming[a.Kind] {
			level += "; notice for a peer without `endpoints`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", a.Kind, level, a.Meaning, a.Advice)
	}
	return b.String()
}

func TestManualHasAllKinds(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	was, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the kinds", manual)
	}
	if was == table() {
		return
	}
	if !*update {
		t.Fatalf("%s has other kinds than kind.go: go test ./overlay/events -update", manual)
	}
	if err := os.WriteFile(manual, []byte(before+begin+table()+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The variable All lists every constant of type Kind.
func TestEveryKindIsListed(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "kind.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	constants := 0
	ast.Inspect(f, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if !ok || len(v.Values) != 1 || fmt.Sprint(v.Type) != "Kind" {
			return true
		}
		constants++
		name, _ := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
		if _, ok := byKind[Kind(name)]; !ok {
			t.Errorf("%s is not in All", name)
		}
		return true
	})
	if constants != len(All) {
		t.Errorf("%d constants, %d kinds listed", constants, len(All))
	}
}
