package e2e

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The suite has three parts. Each test names its own by the first call in it.
const (
	// Tests of the part "side" call side(t). They have bounds of seconds and little traffic. So
	// several of them run at once, and beside other work.
	sidePart = "side"
	// Tests of the part "long" call long(t). Another test asks the same in less time, so they
	// run in "make test-all" alone.
	longPart = "long"
	// All others measure. They run one after the other and have the machine to themselves.
	alonePart = "alone"
)

var part = flag.String("part", "", "run the tests of one part: side, alone or long; without it all")

func side(t *testing.T) {
	t.Helper()
	belongs(t, sidePart)
	t.Parallel()
}

func long(t *testing.T) {
	t.Helper()
	belongs(t, longPart)
}

// belongs fails a test whose mark the choice did not see.
func belongs(t *testing.T, to string) {
	t.Helper()
	if *part != "" && *part != to {
		t.Fatalf("this test runs in part %s: its mark must be the first statement", *part)
	}
}

// choose narrows the run to the tests of -part. Tests of other parts are not skipped: a skipped
// test would count as a missing one.
func choose() error {
	if *part == "" {
		return nil
	}
	if run := flag.Lookup("test.run").Value.String(); run != "" {
		return fmt.Errorf("-part %s and -run %s: give one of them", *part, run)
	}
	names, err := testsOf(*part)
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("-part %s: want side, alone or long", *part)
	}
	return flag.Set("test.run", "^("+strings.Join(names, "|")+")$")
}

// testsOf reads the marks from this package's files. Go's tests run in their folder.
func testsOf(part string) (names []string, err error) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Test") && f.Name.Name != "TestMain" && markOf(f) == part {
				names = append(names, f.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names, nil
}

// markOf returns the part that the first statement of a test names.
func markOf(f *ast.FuncDecl) string {
	if len(f.Body.List) > 0 {
		if s, ok := f.Body.List[0].(*ast.ExprStmt); ok {
			if call, ok := s.X.(*ast.CallExpr); ok {
				if id, ok := call.Fun.(*ast.Ident); ok && (id.Name == sidePart || id.Name == longPart) {
					return id.Name
				}
			}
		}
	}
	return alonePart
}
