package toolchain_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// host has a source tree with the scripts, a module proxy with one toolchain, and a PATH without
// Go.
type host struct {
	dir, path, proxy string
	fetched          atomic.Int32
}

const root = "golang.org/toolchain@v0.0.1-go1.99.1.linux-"

func newHost(t *testing.T) *host {
	t.Helper()
	for _, program := range []string{"curl", "unzip", "flock"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	h := &host{dir: t.TempDir(), path: t.TempDir()}
	for _, name := range []string{"sh", "dirname", "uname", "sed", "sort", "head", "printf", "tr", "grep", "sha256sum", "mktemp", "mkdir", "mv", "rm", "chmod", "find", "id", "flock", "curl", "unzip", "cat", "python3"} {
		if full, err := exec.LookPath(name); err == nil {
			must(t, os.Symlink(full, filepath.Join(h.path, name)))
		}
	}
	for _, name := range []string{"find.sh", "go", "../packages.sh", "../../go.mod"} {
		text, err := os.ReadFile(name)
		must(t, err)
		h.write(t, filepath.Join("scripts/toolchain", name), string(text))
	}
	archive := toolchain(t)
	h.write(t, "scripts/toolchain/sha256sums", fmt.Sprintf("# a comment\n%x  v0.0.1-go1.99.1.linux-%s.zip\n", sha256.Sum256(archive), runtime.GOARCH))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/mirror/golang.org/toolchain/@v/v0.0.1-go1.99.1.") {
			http.NotFound(w, r)
			return
		}
		h.fetched.Add(1)
		w.Write(archive)
	}))
	t.Cleanup(server.Close)
	h.proxy = server.URL + "/mirror"
	return h
}

// toolchain returns the archive on the proxy. Its files have no modes, and its go command prints
// the command's arguments.
func toolchain(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"bin/go":               "#!/bin/sh\necho \"go1.99.1 $* $GOTOOLCHAIN ${GOROOT-}\"\n",
		"pkg/tool/x/compile":   "#!/bin/sh\n",
		"src/_go.mod":          "module std\n",
		"src/cmd/deep/_go.mod": "module deep\n",
	} {
		f, err := w.Create(root + runtime.GOARCH + "/" + name)
		must(t, err)
		if _, err := f.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	must(t, w.Close())
	return b.Bytes()
}

func (h *host) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(h.dir, name)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(text), 0o755))
}

// run calls a script of the tree, and returns standard output and standard error together.
func (h *host) run(proxy, script string, args ...string) (string, error) {
	c := exec.Command(filepath.Join(h.dir, "scripts/toolchain", script), args...)
	c.Env = []string{"PATH=" + h.path, "HOME=" + h.dir, "GOPROXY=" + proxy, "GOROOT=/nonexistent"}
	out, err := c.CombinedOutput()
	return string(out), err
}

// left lists the folder in which the scripts install Go.
func (h *host) left(t *testing.T) string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(h.dir, ".toolchain/*"))
	must(t, err)
	for i, f := range all {
		all[i] = filepath.Base(f)
	}
	return strings.Join(all, " ")
}

func TestHostWithoutGoFetchesIt(t *testing.T) {
	h := newHost(t)
	said, err := h.run(h.proxy, "find.sh")
	if want := filepath.Join(h.dir, "scripts/toolchain/go") + "\n"; err != nil || said != want && !strings.HasPrefix(said, "/usr/local/go/") {
		t.Fatalf("find.sh: %v: %s, want %s", err, said, want)
	}
	said, err = h.run("off,http://127.0.0.1:1,"+h.proxy+"x|"+h.proxy+"/,direct", "go", "build", "-x")
	if err != nil || !strings.HasSuffix(said, "go1.99.1 build -x local \n") || !strings.Contains(said, "fetching go1.99.1, 70 MB, from "+h.proxy+"/ to .toolchain\n") {
		t.Fatalf("go: %v: %s", err, said)
	}
	if said, err = h.run("off", "go", "vet"); err != nil || said != "go1.99.1 vet local \n" {
		t.Errorf("the second time: %v: %s", err, said)
	}
	if n := h.fetched.Load(); n != 1 || h.left(t) != "go1.99.1 lock" {
		t.Errorf("fetched %d times, %s is there", n, h.left(t))
	}
	for _, name := range []string{"src/go.mod", "src/cmd/deep/go.mod"} {
		if _, err := os.Stat(filepath.Join(h.dir, ".toolchain/go1.99.1", name)); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(filepath.Join(h.dir, ".toolchain/go1.99.1/pkg/tool/x/compile")); err != nil || info.Mode()&0o111 != 0o111 {
		t.Errorf("the compiler cannot be run: %v", err)
	}
}

func TestTwoBuildsFetchGoOnce(t *testing.T) {
	h := newHost(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if said, err := h.run(h.proxy, "go"); err != nil || !strings.HasSuffix(said, "go1.99.1  local \n") {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
	all.Wait()
	if n := h.fetched.Load(); n != 1 || h.left(t) != "go1.99.1 lock" {
		t.Errorf("fetched %d times, %s is there", n, h.left(t))
	}
}

// If the file differs from the pinned archive, the script must not unpack or run it, and must leave
// no part of it.
func TestGoThatIsNotThePinnedOneIsNotRun(t *testing.T) {
	h := newHost(t)
	h.write(t, "scripts/toolchain/sha256sums", fmt.Sprintf("%x  v0.0.1-go1.99.1.linux-%s.zip\n", sha256.Sum256(nil), runtime.GOARCH))
	said, err := h.run(h.proxy, "go", "build")
	if err == nil || !strings.Contains(said, "sent another v0.0.1-go1.99.1.linux-"+runtime.GOARCH+".zip than the one in scripts/toolchain/sha256sums") || strings.Contains(said, "build") {
		t.Errorf("%v: %s", err, said)
	}
	if h.left(t) != "lock" {
		t.Errorf("%s is there", h.left(t))
	}
}

func TestNoProxyIsOneClearLine(t *testing.T) {
	h := newHost(t)
	said, err := h.run("direct", "go", "build")
	if want := "toolchain: go1.99.1 cannot be fetched: GOPROXY=direct; or install Go from https://go.dev/dl\n"; err == nil || said != want {
		t.Errorf("%v: %s, want %s", err, said, want)
	}
}

// The script must use an installed Go if it is new enough for go.mod.
func TestInstalledGoIsUsedIfNewEnough(t *testing.T) {
	for version, used := range map[string]bool{
		"go1.19.8": false, "go1.25.12": false, "go1.26.0": true, "go1.26.11": true, "go1.27.1 X:nogreenteagc": true, "go1.100.0": true, "devel go1.28-0a1b2c": true, "": false,
	} {
		h := newHost(t)
		installed := filepath.Join(h.path, "go")
		must(t, os.WriteFile(installed, []byte("#!/bin/sh\necho go version "+version+" linux/amd64\n"), 0o755))
		said, err := h.run("off", "find.sh")
		if err != nil || (strings.TrimSpace(said) == installed) != used {
			t.Errorf("%s: %v: %s", version, err, said)
		}
	}
}

// The pinned Go must be new enough for go.mod, for both architectures of the packages.
func TestPinnedGoIsNewEnough(t *testing.T) {
	sums, err := os.ReadFile("sha256sums")
	must(t, err)
	mod, err := os.ReadFile("../../go.mod")
	must(t, err)
	_, rest, _ := strings.Cut(string(mod), "\ngo ")
	oldest, _, _ := strings.Cut(rest, "\n")
	series := oldest[:strings.LastIndex(oldest, ".")]
	for _, arch := range []string{"amd64", "arm64"} {
		if !strings.Contains(string(sums), "  v0.0.1-go"+series+".") || !strings.Contains(string(sums), ".linux-"+arch+".zip\n") {
			t.Errorf("no Go %s for %s in sha256sums", series, arch)
		}
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
