package main

import (
	"cmp"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// tree holds the needed packages of a module, type-checked without their tests. It
// ignores errors in them, so that a half-done change can be counted as well.
type tree struct {
	root, module string
	fset         *token.FileSet
	std          types.Importer
	packages     map[string]*pkg // by folder, with slashes
	err          error           // of the standard library: without it a count would be wrong
}

// pkg is one package.
type pkg struct {
	dir   string
	types *types.Package
	info  types.Info
	files map[string]*ast.File // by path from the root
}

// load reads the module at root, as far as dirs need it.
func load(root string, dirs ...string) (*tree, error) {
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	if build.Default.GOROOT == "" { // built with -trimpath
		dir, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return nil, err
		}
		build.Default.GOROOT = strings.TrimSpace(string(dir))
	}
	_, line, _ := strings.Cut(string(mod), "module ")
	module, _, _ := strings.Cut(line, "\n")
	fset := token.NewFileSet()
	t := &tree{root: root, module: module, fset: fset, std: importer.ForCompiler(fset, "source", nil), packages: map[string]*pkg{}}
	for _, dir := range dirs {
		if _, err := t.Import(module + "/" + dir); err != nil {
			return nil, err
		}
	}
	return t, t.err
}

// Import implements types.Importer. Packages of other modules are left empty, because no
// count needs them.
func (t *tree) Import(name string) (*types.Package, error) {
	dir, ours := strings.CutPrefix(name, t.module+"/")
	if first, _, _ := strings.Cut(name, "/"); !ours && !strings.Contains(first, ".") {
		p, err := t.std.Import(name)
		t.err = cmp.Or(t.err, err)
		return p, err
	} else if !ours {
		return types.NewPackage(name, path.Base(name)), nil
	}
	if p := t.packages[dir]; p != nil {
		return p.types, nil
	}
	p := &pkg{dir: dir, files: map[string]*ast.File{}, info: types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}}
	names, err := filepath.Glob(filepath.Join(t.root, dir, "*.go"))
	var files []*ast.File
	for _, name := range names {
		if ok, _ := build.Default.MatchFile(filepath.Split(name)); ok && !strings.HasSuffix(name, "_test.go") {
			f, wrong := parser.ParseFile(t.fset, name, nil, parser.SkipObjectResolution)
			err = cmp.Or(err, wrong)
			files = append(files, f)
			p.files[path.Join(dir, filepath.Base(name))] = f
		}
	}
	if err != nil {
		return nil, err
	}
	conf := types.Config{Importer: t, Error: func(error) {}}
	p.types, _ = conf.Check(name, t.fset, files, &p.info)
	t.packages[dir] = p
	return p.types, nil
}

// file returns the file of pos, from the root.
func (t *tree) file(pos token.Pos) string {
	name, _ := filepath.Rel(t.root, t.fset.Position(pos).Filename)
	return filepath.ToSlash(name)
}
