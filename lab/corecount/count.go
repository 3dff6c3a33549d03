package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"
)

// methodsOf returns the methods of a type, promoted methods of embedded types included.
func methodsOf(p *pkg, name string) (v []string) {
	for m := range types.NewMethodSet(types.NewPointer(p.types.Scope().Lookup(name).Type())).Methods() {
		v = append(v, m.Obj().Name())
	}
	return v
}

// leavesOf returns the smallest parts of a struct's state. A field that is a struct of this
// module counts as its own fields. Arrays, slices, maps, interfaces and pointers are one
// leaf each. Pointers in the struct to structs of the same package are expanded as well. A
// pointer to another part of the same object is not counted.
func leavesOf(t *tree, p *pkg, name string) []string {
	s := &state{module: t.module + "/", in: p.types, parts: map[types.Type]bool{}}
	root := p.types.Scope().Lookup(name).Type()
	s.visit(root, name, 0)
	s.leaves = nil
	s.visit(root, name, 0) // now all parts are known
	return s.leaves
}

// state collects the parts of a struct's state.
type state struct {
	module string
	in     *types.Package
	parts  map[types.Type]bool // structs that are a part of the whole
	leaves []string
}

func (s *state) visit(t types.Type, at string, depth int) {
	s.parts[t] = true
	for f := range t.Underlying().(*types.Struct).Fields() {
		of, where := f.Type(), at+"."+f.Name()
		if to, ok := of.(*types.Pointer); ok && depth == 0 && to.Elem() != t && s.owns(to.Elem()) {
			of = to.Elem()
		} else if ok && s.parts[to.Elem()] {
			continue
		}
		named, _ := types.Unalias(of).(*types.Named)
		if _, ok := of.Underlying().(*types.Struct); ok && named != nil && strings.HasPrefix(named.Obj().Pkg().Path()+"/", s.module) {
			s.visit(named, where, depth+1)
		} else if f.Name() != "_" {
			s.leaves = append(s.leaves, where)
		}
	}
}

// owns reports whether t is a struct in the package of the counted object.
func (s *state) owns(t types.Type) bool {
	named, _ := types.Unalias(t).(*types.Named)
	if named == nil || named.Obj().Pkg() != s.in {
		return false
	}
	_, ok := named.Underlying().(*types.Struct)
	return ok
}

// core are the files of loss recovery, path choice and congestion control; rest are the
// other files of srd. A file in neither list counts as core.
var (
	core = []string{
		"srd/recovery*.go", "srd/choice*.go", "srd/sender_*.go", "srd/granule.go", "srd/hosts.go", "srd/path.go",
		"srd/internal/path/*.go", "srd/internal/recovery/*.go", "srd/internal/choice/*.go", "srd/internal/rtt/*.go",
		"srd/internal/pace/*.go", "srd/cc/*.go", "srd/steer/spray.go",
	}
	rest = []string{
		"srd/addresses.go", "srd/borrow.go", "srd/calls.go", "srd/class.go", "srd/config.go", "srd/conn*.go", "srd/copies.go",
		"srd/doc.go", "srd/drop.go", "srd/endpoint.go", "srd/env.go", "srd/guard.go", "srd/keys.go", "srd/message.go",
		"srd/meter.go", "srd/outbox.go", "srd/paths*.go", "srd/receiver*.go", "srd/sender.go", "srd/session*.go", "srd/sound.go",
		"srd/state*.go", "srd/stats.go", "srd/throttle.go", "srd/train.go",
	}
)

// decides reports whether a file of package dir counts as core.
func decides(dir, file string) bool {
	in := func(globs []string) bool {
		return slices.ContainsFunc(globs, func(g string) bool { ok, _ := path.Match(g, file); return ok })
	}
	return in(core) || dir == "srd" && !in(rest)
}

// numbersOf returns a file's named constants that are numbers, without enumerations (iota).
// It also counts the numbers other than 0, 1 and 2 in its functions.
func numbersOf(p *pkg, f *ast.File) (names []string, literals int) {
	for _, d := range f.Decls {
		var found []string
		enum := false
		_, function := d.(*ast.FuncDecl)
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				enum = enum || n.Name == "iota"
				if c, ok := p.info.Defs[n].(*types.Const); ok && n.Name != "_" && (c.Val().Kind() == constant.Int || c.Val().Kind() == constant.Float) {
					found = append(found, n.Name)
				}
			case *ast.BasicLit:
				if function && (n.Kind == token.INT || n.Kind == token.FLOAT) && !slices.Contains([]string{"0", "1", "2"}, n.Value) {
					literals++
				}
			}
			return true
		})
		if !enum {
			names = append(names, found...)
		}
	}
	return names, literals
}
