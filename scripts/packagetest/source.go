package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// installsAndUninstalls installs srdtun into a folder, and uninstalls it again. After the
// uninstallation, the folder must have no files.
func (w *workshop) installsAndUninstalls() (note string, err error) {
	dest := filepath.Join(w.dir, "dest")
	for _, target := range []string{"install", "uninstall"} {
		if err := run(".", "make", "--no-print-directory", target, "DESTDIR="+dest); err != nil {
			return "", err
		}
		n, err := count(dest)
		if err != nil {
			return "", err
		}
		if installed := target == "install"; installed != (n > 10) || !installed && n > 0 {
			return "", fmt.Errorf("%d files after make %s", n, target)
		}
	}
	return "", nil
}

func count(dir string) (n int, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			n++
		}
		return err
	})
	return n, err
}

const modulePath = "github.com/srdtun/srdtun"

// goInstalls serves the source tree as a module proxy, and runs "go install" with it, as any user
// may. A folder with its own go.mod does not belong to this module.
func (w *workshop) goInstalls() (note string, err error) {
	at := filepath.Join(w.dir, "proxy", modulePath, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		return "", err
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return "", err
	}
	for name, text := range map[string]string{"list": published, published + ".info": `{"Version":"` + published + `"}`, published + ".mod": string(mod)} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	args := []string{"-c", "safe.directory=*", "archive", "--format=zip", "--prefix=" + modulePath + "@" + published + "/",
		"--output=" + filepath.Join(at, published+".zip"), "HEAD", "."}
	nested, err := output("git", "-c", "safe.directory=*", "ls-files", "*/go.mod")
	if err != nil {
		return "", err
	}
	for _, m := range strings.Fields(nested) {
		args = append(args, ":!"+filepath.Dir(m))
	}
	if err := run(".", "git", args...); err != nil {
		return "", err
	}
	cache, err := output("go", "env", "GOMODCACHE")
	if err != nil {
		return "", err
	}
	// The test must not use a cached copy from an earlier run.
	forget := func() error {
		return errors.Join(os.RemoveAll(filepath.Join(cache, modulePath+"@"+published)),
			os.RemoveAll(filepath.Join(cache, "cache/download", modulePath)))
	}
	if err := forget(); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, forget()) }()
	if err := run(w.dir, "env", "GOFLAGS=-modcacherw", "GOBIN="+w.dir, "GONOSUMDB="+modulePath, "GOPROXY=file://"+filepath.Join(w.dir, "proxy")+","+goproxy(),
		"go", "install", modulePath+"/cmd/srdtun@"+published); err != nil {
		return "", err
	}
	out, err := output(filepath.Join(w.dir, "srdtun"), "version")
	if err != nil || !strings.HasPrefix(out, "srdtun "+strings.TrimPrefix(published, "v")+" ") {
		return "", fmt.Errorf("go install: %s, %v", out, err)
	}
	return "", nil
}

// published is a version number that no earlier run has used. Go assumes that a version of a
// module never changes, and caches its files.
var published = fmt.Sprintf("v0.9.%d", time.Now().Unix())

// goproxy returns the source of the modules that srdtun needs.
func goproxy() string {
	v, err := output("go", "env", "GOPROXY")
	if err != nil {
		return "off"
	}
	return v
}
