package tree

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// floors lists the packages, the lowest first. A folder stands for all folders below it,
// except those with an entry of their own. A package may import packages of its own floor
// and of lower floors.
var floors = [][]string{
	{"internal", "config", "overlay/control/rundir", "overlay/events"},
	{"srd/mono"},
	{"srd/internal", "srd/handshake", "srd/steer", "srd/cc"},
	{"srd"},
	{"srd/udp", "srd/liar"},
	{"srd/loop"},
	{"srd/ep"},
	{"srd/msg"},
	// The overlay's pure parts.
	{"overlay/budget", "overlay/frame", "overlay/packet", "overlay/merge", "overlay/route", "overlay/order", "overlay/queue", "overlay/flows"},
	{"sim"},
	// The overlay's host parts.
	{"overlay/tundev", "overlay/netconf", "overlay/control", "overlay/handover", "overlay/hooks", "overlay/privilege", "overlay/web"},
	{"overlay/metrics", "overlay/dashboard"},
	{"overlay/daemon/internal"},
	{"overlay/daemon"},
	{"cmd/srdtun/internal"},
	{"cmd/srdtun", "cmd/srdperf"},
	// Separate packages, which no package of the lists above imports.
	{"fleet"},
	{"e2e"},
	{"scripts", "packaging"},
	{"lab"},
	{"bench"},
	{"examples"},
}

// floorOf returns the floor of a package, by the longest entry that contains it; -1:
// none.
func floorOf(dir string) int {
	for d := dir; d != "."; d = path.Dir(d) {
		if i := slices.IndexFunc(floors, func(f []string) bool { return slices.Contains(f, d) }); i >= 0 {
			return i
		}
	}
	return -1
}

// No package imports a package of a higher floor. Test files may, for example to use the
// simulator.
func TestNoArrowUp(t *testing.T) {
	for _, s := range tree(t) {
		if s.test {
			continue
		}
		own := floorOf(s.dir)
		if own < 0 {
			t.Errorf("%s: %s has no floor", s.file, s.dir)
			continue
		}
		for _, p := range s.imports() {
			if to, ours := strings.CutPrefix(p, module+"/"); ours && floorOf(to) > own {
				t.Errorf("%s imports %s, which is above it (%s)", s.file, to, strings.Join(floors[floorOf(to)], ", "))
			}
		}
	}
}

// nouns are the daemon's main types, the lowest first (docs/design.md, "The daemon").
var nouns = []string{
	"eventLog", "peer", "runningConfig", "device", "sockets", "uplinks", "ingress", "sessions", "endpoints",
	"settings", "restart", "observer", "programs", "status", "monitor", "server",
}

// A main type of the daemon has no field whose type is a higher main type, and no method
// with an argument of such a type.
func TestNounsKnowThoseBelow(t *testing.T) {
	const daemon = "overlay/daemon"
	seen := map[string]bool{}
	for _, s := range tree(t) {
		if s.test || s.dir != daemon {
			continue
		}
		for _, d := range s.ast.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv != nil {
					s.checkNoun(t, typeName(d.Recv.List[0].Type), d.Type)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						seen[ts.Name.Name] = true
						s.checkNoun(t, ts.Name.Name, ts.Type)
					}
				}
			}
		}
	}
	for _, n := range nouns {
		if !seen[n] {
			t.Errorf("there is no %s in %s", n, daemon)
		}
	}
}

// checkNoun reports main types above `name` within the type expression `at`.
func (s *source) checkNoun(t *testing.T, name string, at ast.Node) {
	own := slices.Index(nouns, name)
	if own < 0 {
		return
	}
	ast.Inspect(at, func(n ast.Node) bool {
		f, ok := n.(*ast.Field)
		if ok && slices.Index(nouns, typeName(f.Type)) > own {
			t.Errorf("%s: %s knows %s, which is above it", s.at(f), name, typeName(f.Type))
		}
		return true
	})
}

// typeName returns the name of a type or of its pointer's target; "": it has no name.
func typeName(e ast.Expr) string {
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}
