package srd

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// These limits must not grow: for a new law, another law must be removed
// (docs/transport.md).
const (
	codeMost     = 7070 // lines with code of srd, cc and internal
	constantMost = 280
	controlMost  = 475 // lines with code of cc
)

func TestCoreStaysSmall(t *testing.T) {
	code, control, constants := 0, 0, 0
	for _, pattern := range []string{"*.go", "cc/*.go", "internal/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(pattern, err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			lines := map[int]bool{}
			ast.Inspect(file, func(n ast.Node) bool {
				if n != nil {
					lines[set.Position(n.Pos()).Line], lines[set.Position(n.End()).Line] = true, true
				}
				if d, ok := n.(*ast.GenDecl); ok && d.Tok == token.CONST {
					constants += len(d.Specs)
				}
				return true
			})
			code += len(lines)
			if strings.HasPrefix(name, "cc/") {
				control += len(lines)
			}
		}
	}
	if t.Logf("%d lines with code, %d of them cc, %d constants", code, control, constants); code > codeMost || control > controlMost || constants > constantMost {
		t.Errorf("%d lines with code, %d of them cc, %d constants; at most %d, %d, %d", code, control, constants, codeMost, controlMost, constantMost)
	}
}
