package tree

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/srdtun/srdtun"

// source is one Go file of the tree.
type source struct {
	file string // with slashes, from the top
	dir  string // its package: the folder, "." at the top
	test bool
	ast  *ast.File
	fset *token.FileSet
	line int // number of lines
}

func (s *source) at(n ast.Node) string { return s.fset.Position(n.Pos()).String() }

// tree parses every Go file.
func tree(t *testing.T) (all []*source) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go"):
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		all = append(all, &source{
			file: file, dir: path.Dir(file), test: strings.HasSuffix(file, "_test.go"),
			ast: f, fset: fset, line: bytes.Count(text, []byte("\n")),
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Fatalf("%d Go files: this is not the tree", len(all))
	}
	return all
}

// imports returns the imports of s, without quotes.
func (s *source) imports() (v []string) {
	for _, i := range s.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		v = append(v, p)
	}
	return v
}

// under reports whether the folder dir is one of roots or lies in one.
func under(dir string, roots ...string) bool {
	return slices.ContainsFunc(roots, func(r string) bool { return dir == r || strings.HasPrefix(dir, r+"/") })
}

// pure reports whether a package is pure: its functions get time and randomness as
// arguments, so it runs in the same way in a driver, a simulator and a fuzzer.
func pure(dir string) bool {
	return dir == "srd" || dir == "fleet" || dir == "internal/inspect" || dir == "internal/keytext" || dir == "internal/peerid" || under(dir, "srd/mono", "srd/cc", "srd/steer", "srd/handshake", "srd/liar", "srd/internal",
		"overlay/budget", "overlay/events", "overlay/frame", "overlay/packet", "overlay/merge", "overlay/route", "overlay/order", "overlay/queue", "overlay/flows", "sim",
		"lab/compare", "lab/stat", "lab/tcp", "lab/workload") || dir == "lab"
}

// impure lists the packages that no pure package may import, with the reasons.
var impure = map[string]string{
	"os":                             "a pure machine has no files, environment or process",
	"os/exec":                        "a pure machine has no processes",
	"os/signal":                      "a pure machine has no process",
	"net":                            "a pure machine has no sockets; net/netip is fine",
	"net/http":                       "a pure machine has no sockets",
	"syscall":                        "a pure machine makes no system calls",
	"log":                            "a pure machine counts, it does not log",
	"log/slog":                       "a pure machine counts, it does not log",
	"sync":                           "a pure machine is driven by one goroutine at a time; the driver locks",
	"sync/atomic":                    "a pure machine is driven by one goroutine at a time; the driver locks",
	"math/rand":                      "its functions share one hidden state; math/rand/v2 with a seed is fine",
	"crypto/rand":                    "randomness is an argument, so that a seed replays a run",
	"context":                        "a pure machine does not wait",
	"unsafe":                         "nothing here is worth it",
	"golang.org/x/sys/unix":          "a pure machine makes no system calls",
	"github.com/vishvananda/netlink": "a pure machine makes no system calls",
}

// allowed lists exceptions from impure by folder.
var allowed = map[string][]string{
	"overlay/budget": {"sync/atomic"}, // the peers of all workers share the budget
	"overlay/frame":  {"sync/atomic"}, // buffers are shared between the sending and the receiving goroutine
}

func TestPurePackagesImportNothingImpure(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !pure(s.dir) {
			continue
		}
		for _, p := range s.imports() {
			if why, bad := impure[p]; bad && !slices.Contains(allowed[s.dir], p) {
				t.Errorf("%s imports %s: %s", s.file, p, why)
			}
		}
	}
}

// clocks are the functions of package time that read the clock or wait.
var clocks = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// seeded are the functions of math/rand/v2 that take their seed from the caller.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf"}

func TestPurePackagesHaveNoClockAndNoGoroutines(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || !pure(s.dir) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a pure machine starts no goroutine", s.at(n))
			case *ast.SelectStmt, *ast.SendStmt, *ast.ChanType:
				t.Errorf("%s: a pure machine has no channels", s.at(n))
			case *ast.SelectorExpr:
				s.checkCall(t, n)
			}
			return true
		})
	}
}

// checkCall reports an error if n names a function with a hidden clock or seed.
func (s *source) checkCall(t *testing.T, n *ast.SelectorExpr) {
	x, ok := n.X.(*ast.Ident)
	if !ok {
		return
	}
	imports := s.imports()
	if x.Name == "time" && slices.Contains(imports, "time") && slices.Contains(clocks, n.Sel.Name) {
		t.Errorf("%s: time.%s: a pure machine is told the time", s.at(n), n.Sel.Name)
	}
	if x.Name == "rand" && slices.Contains(imports, "math/rand/v2") && ast.IsExported(n.Sel.Name) {
		if f := n.Sel.Name; !slices.Contains(seeded, f) && f != "Rand" && f != "PCG" && f != "ChaCha8" && f != "Source" {
			t.Errorf("%s: rand.%s draws from a hidden seed", s.at(n), f)
		}
	}
}

// Imports between our packages go one way.
func TestArrows(t *testing.T) {
	for _, s := range tree(t) {
		for _, p := range s.imports() {
			if to, ours := strings.CutPrefix(p, module+"/"); ours {
				if why := forbidden(s, to); why != "" {
					t.Errorf("%s imports %s: %s", s.file, to, why)
				}
			}
		}
	}
}

// forbidden returns why s must not import our package to, or "" if it may.
func forbidden(s *source, to string) string {
	switch {
	case under(s.dir, "srd") && under(to, "overlay"):
		return "the transport does not know what it carries"
	case under(s.dir, "srd") && under(to, "sim", "lab") && !s.test:
		return "the transport does not know that it is simulated"
	case under(s.dir, "sim") && under(to, "sim") && !slices.Contains(below(s.dir), to):
		return "the simulator's packages import those below them alone: " + strings.Join(layers, ", ")
	case s.dir == "config" && !under(to, "internal/bounded", "internal/keytext", "internal/peerid", "internal/wgquick", "internal/writers"):
		return "the configuration is read without the rest"
	case to == "config" && !s.test && !under(s.dir, "cmd", "overlay/daemon"):
		return "only the command and the daemon read configurations; others take arguments"
	case under(s.dir, "sim", "lab") && under(to, "srd/udp", "srd/loop", "overlay/tundev", "overlay/netconf", "overlay/control", "overlay/daemon"):
		return "a simulation has no sockets and no devices"
	case under(s.dir, "fleet") && !under(to, "fleet", "internal/manpage", "internal/logline", "internal/bounded", "internal/keytext", "internal/peerid") && !s.test:
		return "the fleet is a module of its own, and takes nothing of the daemon"
	case under(to, "fleet") && !under(s.dir, "fleet"):
		return "the daemon takes files, and does not know who writes them"
	case under(to, "lab", "bench") && !under(s.dir, "lab", "bench"):
		return "what experiments need is not the product's"
	case under(to, "cmd") && !under(s.dir, "cmd"):
		return "commands are no library"
	case under(s.dir, "overlay/metrics", "overlay/dashboard", "overlay/web") && !under(to, "overlay/control", "overlay/web"):
		return "what strangers may see is made of the status alone, which has no secrets"
	case (to == "internal/netspace" || strings.HasSuffix(to, "test")) && !s.test:
		return "it is for tests"
	case under(to, "e2e") && !under(s.dir, "e2e", "cmd", "bench", "lab/fabric", "scripts"):
		return "the product does not need its tests"
	case pure(s.dir) && !s.test && !pure(to):
		return "a pure package needs only pure ones"
	}
	return ""
}

// layers are the simulator's packages; each imports only earlier ones.
var layers = []string{"sim/net", "sim/host", "sim/foe", "sim/swarm"}

// below returns the simulator's packages that a package and its tests may import: the
// earlier ones and itself. An external test imports its own package.
func below(dir string) []string { return layers[:slices.Index(layers, dir)+1] }

func TestSimulatorHasNoArrowUp(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range tree(t) {
		if under(s.dir, "sim") {
			seen[s.dir] = true
			if !slices.Contains(layers, s.dir) {
				t.Errorf("%s is in none of %v", s.file, layers)
			}
		}
	}
	if len(seen) != len(layers) {
		t.Errorf("packages %v, want %v", seen, layers)
	}
	for _, x := range []struct {
		from, to string
		bad      bool
	}{
		{"sim/net", "sim/host", true},
		{"sim/host", "sim/foe", true},
		{"sim/foe", "sim/swarm", true},
		{"sim/net", "lab", true},
		{"sim/swarm", "lab/tcp", true},
		{"sim", "sim/net", true},
		{"sim/swarm", "sim/net", false},
		{"sim/foe", "sim/host", false},
	} {
		if why := forbidden(&source{dir: x.from}, x.to); (why != "") != x.bad {
			t.Errorf("%s imports %s: %q", x.from, x.to, why)
		}
	}
}

// Records, policy, files and their agent need only the standard library. So do the three
// leaves that they share with the daemon. Only a store needs other modules.
func TestFleetNeedsTheStandardLibraryAlone(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || s.dir != "fleet" && !under(s.dir, "fleet/agent", "fleet/dropdir", "internal/bounded", "internal/keytext", "internal/peerid") {
			continue
		}
		for _, p := range s.imports() {
			if strings.Contains(strings.Split(p, "/")[0], ".") && !strings.HasPrefix(p, module+"/fleet") && p != module+"/internal/bounded" && p != module+"/internal/keytext" && p != module+"/internal/peerid" {
				t.Errorf("%s imports %s: only the standard library", s.file, p)
			}
		}
	}
}

// Only the command draws on terminals, so that a program with a daemon inside does not
// need the drawing modules.
func TestOnlyTheCommandDraws(t *testing.T) {
	for _, s := range tree(t) {
		for _, p := range s.imports() {
			if (strings.HasPrefix(p, "charm.land/") || strings.HasPrefix(p, "github.com/charmbracelet/")) && s.dir != "cmd/srdtun" {
				t.Errorf("%s imports %s: only cmd/srdtun draws", s.file, p)
			}
		}
	}
}

// mostLines is the largest allowed number of lines in a file. A longer file is about more
// than one thing.
const mostLines = 600

func TestFilesAreShort(t *testing.T) {
	for _, s := range tree(t) {
		if s.line > mostLines {
			t.Errorf("%s has %d lines, more than %d: it holds more than one noun", s.file, s.line, mostLines)
		}
	}
}

// vague lists forbidden package names, which do not say what a package is for.
var vague = []string{"util", "utils", "common", "helper", "helpers", "misc", "manager", "base", "shared"}

func TestPackagesHaveNames(t *testing.T) {
	for _, s := range tree(t) {
		name := strings.TrimSuffix(s.ast.Name.Name, "_test")
		if slices.Contains(vague, name) || slices.Contains(vague, path.Base(s.dir)) {
			t.Errorf("%s: package %s: a package is named after what it provides", s.file, name)
		}
		if file := strings.TrimSuffix(path.Base(s.file), ".go"); slices.Contains(vague, strings.TrimSuffix(file, "_test")) {
			t.Errorf("%s: a file is named after its noun", s.file)
		}
	}
}

// Unfinished work is noted in issues, not in the code.
func TestNothingIsLeftToDo(t *testing.T) {
	marks := []string{"TO" + "DO", "FIX" + "ME", "XX" + "X"}
	for _, s := range tree(t) {
		for _, group := range s.ast.Comments {
			for _, mark := range marks {
				if strings.Contains(group.Text(), mark) {
					t.Errorf("%s: %s", s.at(group), mark)
				}
			}
		}
	}
}

// Only commands end the process, so that other code can clean up.
func TestOnlyCommandsExit(t *testing.T) {
	for _, s := range tree(t) {
		if s.test || s.ast.Name.Name == "main" || under(s.dir, "e2e") {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if f, ok := n.(*ast.SelectorExpr); ok && f.Sel.Name == "Exit" {
				if x, ok := f.X.(*ast.Ident); ok && x.Name == "os" {
					t.Errorf("%s: only a command exits", s.at(n))
				}
			}
			return true
		})
	}
}

// makeVariable returns the value of a variable in the Makefile.
func makeVariable(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^` + name + ` *:?= *(.*)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("the Makefile has no %s", name)
	}
	return strings.ReplaceAll(string(m[1]), "$$", "$")
}

// among reports whether a folder is in a list of the Makefile like "./srd ./overlay/...".
func among(dir, list string) bool {
	return slices.ContainsFunc(strings.Fields(list), func(p string) bool {
		p = strings.TrimPrefix(p, "./")
		below, tree := strings.CutSuffix(p, "/...")
		return dir == p || tree && under(dir, below)
	})
}

// Packages that are tested without the race detector share no variables between goroutines,
// and their tests start none. But two tests may run the same seed at the same time. Threads
// of other packages may run the pure ones among them (SOLO in the Makefile), but not the
// others (SINGLE).
func TestNoThreadsWithoutTheRaceDetector(t *testing.T) {
	solo, single := makeVariable(t, "SOLO"), makeVariable(t, "SINGLE")
	seen := 0
	for _, s := range tree(t) {
		if !among(s.dir, solo) && !among(s.dir, single) {
			continue
		}
		seen++
		if among(s.dir, solo) && (!pure(s.dir) || allowed[s.dir] != nil) {
			t.Errorf("%s is tested without the race detector, and may have threads", s.file)
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if g, ok := n.(*ast.GoStmt); ok {
				t.Errorf("%s: the race detector does not watch this goroutine", s.at(g))
			}
			return true
		})
	}
	if seen < 100 {
		t.Errorf("%d files", seen)
	}
}

// The first statement of an end-to-end test marks the part to which it belongs. A test
// without a mark runs alone. e2e/parts_test.go finds no marks at other places.
func TestPartsOfEndToEndTests(t *testing.T) {
	seen := map[string]int{}
	for _, s := range tree(t) {
		if s.dir != "e2e" || !s.test {
			continue
		}
		for _, d := range s.ast.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || !strings.HasPrefix(f.Name.Name, "Test") || f.Name.Name == "TestMain" {
				continue
			}
			seen[""]++
			for i, stmt := range f.Body.List {
				mark := markOf(stmt)
				if mark != "" {
					seen[mark]++
				}
				if mark == "Parallel" || mark != "" && i > 0 {
					t.Errorf("%s: %s calls %s: side(t) or long(t) as its first statement is a mark, and nothing else is", s.at(f), f.Name.Name, mark)
				}
			}
		}
	}
	if seen[""] < 50 || seen["side"] < 30 || seen["long"] < 5 {
		t.Errorf("%d tests, %d side, %d long", seen[""], seen["side"], seen["long"])
	}
}

// markOf returns the function that a statement calls, if that is side, long or
// t.Parallel.
func markOf(stmt ast.Stmt) string {
	x, ok := stmt.(*ast.ExprStmt)
	if !ok {
		return ""
	}
	c, ok := x.X.(*ast.CallExpr)
	if !ok {
		return ""
	}
	switch f := c.Fun.(type) {
	case *ast.Ident:
		if f.Name == "side" || f.Name == "long" {
			return f.Name
		}
	case *ast.SelectorExpr:
		if f.Sel.Name == "Parallel" {
			return f.Sel.Name
		}
	}
	return ""
}

// Packages that the Makefile names exist.
func TestMakefileNamesPackages(t *testing.T) {
	text, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	lists := regexp.MustCompile(`(?m)^(?:SOLO|SIM|SINGLE|THREADS|PURE)\s*=(.*)$`).FindAllStringSubmatch(string(text), -1)
	if len(lists) != 5 {
		t.Fatalf("%d lists of packages", len(lists))
	}
	for _, list := range lists {
		for _, name := range strings.Fields(list[1]) {
			if info, err := os.Stat(strings.TrimSuffix(name, "/...")); err != nil || !info.IsDir() {
				t.Errorf("%s is no package", name)
			}
		}
	}
}
