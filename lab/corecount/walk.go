package main

import (
	"go/ast"
	"go/types"
)

// walk follows a value from function to function, depth first and in the order of the
// source. It enters each call that gets the value. It does not follow methods of interfaces,
// which are chosen at run time, nor arithmetic (srd/mono). It walks no function twice, but
// enters one as often as it is called.
type walk struct {
	tree  *tree
	decls map[types.Object]*ast.FuncDecl
	from  map[types.Object]*pkg
	done  map[*types.Var]bool // parameters that were followed
	stays []string            // files, one after another
}

// follow walks from a parameter of a method.
func follow(t *tree, p *pkg, holder, method, param string) []string {
	w := &walk{t, map[types.Object]*ast.FuncDecl{}, map[types.Object]*pkg{}, map[*types.Var]bool{}, nil}
	for _, p := range t.packages {
		for _, f := range p.files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && p.dir != "srd/mono" {
					w.decls[p.info.Defs[fn.Name]], w.from[p.info.Defs[fn.Name]] = fn, p
				}
			}
		}
	}
	start, _, _ := types.LookupFieldOrMethod(types.NewPointer(p.types.Scope().Lookup(holder).Type()), true, p.types, method)
	for v := range start.(*types.Func).Signature().Params().Variables() {
		if v.Name() == param {
			w.enter(start.(*types.Func), v)
		}
	}
	return w.stays
}

// enter walks through fn, with the value in v.
func (w *walk) enter(fn *types.Func, v *types.Var) {
	decl, p := w.decls[fn], w.from[fn]
	if decl == nil {
		return
	}
	if file := w.tree.file(decl.Pos()); len(w.stays) == 0 || w.stays[len(w.stays)-1] != file {
		w.stays = append(w.stays, file)
	}
	if w.done[v] {
		return
	}
	w.done[v] = true
	copies := map[types.Object]bool{v: true}
	has := func(e ast.Expr) bool {
		id, ok := ast.Unparen(e).(*ast.Ident)
		return ok && copies[p.info.Uses[id]]
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, to := range n.Lhs {
				if id, ok := to.(*ast.Ident); ok && id.Name != "_" && len(n.Lhs) == len(n.Rhs) && has(n.Rhs[i]) {
					copies[p.info.ObjectOf(id)] = true
				}
			}
		case *ast.CallExpr:
			w.call(p, n, has)
		}
		return true
	})
}

// call enters a called function if the call passes the value.
func (w *walk) call(p *pkg, n *ast.CallExpr, has func(ast.Expr) bool) {
	callee, _ := ast.Unparen(n.Fun).(*ast.Ident)
	selector, method := ast.Unparen(n.Fun).(*ast.SelectorExpr)
	if method {
		callee = selector.Sel
	}
	fn, ok := p.info.Uses[callee].(*types.Func)
	if !ok {
		return
	}
	fn = fn.Origin()
	if method && has(selector.X) && fn.Signature().Recv() != nil {
		w.enter(fn, fn.Signature().Recv())
	}
	for i, arg := range n.Args {
		if has(arg) && i < fn.Signature().Params().Len() {
			w.enter(fn, fn.Signature().Params().At(i))
		}
	}
}

// returnsOf returns how many parts of the walk are in a file that the walk had left before.
func returnsOf(stays []string) (n int) {
	seen := map[string]bool{}
	for _, f := range stays {
		if seen[f] {
			n++
		}
		seen[f] = true
	}
	return n
}
