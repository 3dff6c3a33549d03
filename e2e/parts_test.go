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

// The test suite has three parts. The first call in a test names the test's part.
const (
	// Tests of the part "side" call side(t). They have bounds of seconds and little traffic, so
	// several of them run at the same time, together with other work.
	sidePart = "side"
	// Tests of the part "long" call long(t). Faster tests cover almost the same, so only "make
	// test-all" runs the part "long".
	longPart = "long"
	// All other tests measure. They run one after another on an otherwise idle machine.
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

// belongs fails a test whose mark choose() did not find.
func belongs(t *testing.T, to string) {
	t.Helper()
	if *part != "" && *part != to {
		t.Fatalf("this test runs in part %s: its mark must be the first statement", *part)
	}
}

// choose limits the run to the tests of the part in -part. Tests of other parts do not run at all,
// because a skipped test would count as a failure.
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

// testsOf returns the tests of a part, according to the marks in this package's files. Go runs
// tests in the folder of their package.
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

// markOf returns the part that the first statement of a test function names.
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
