package regress

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// version is a build of srdtun.
type version struct {
	name string // name for people
	bin  string
}

// working is the name of the version in the working tree, with its uncommitted changes.
const working = "."

// build compiles the binary of a revision, or of the working tree, into the folder dir.
func build(goCmd, top, rev, dir string) (version, error) {
	if rev == working {
		name, err := git(top, "describe", "--always", "--dirty", "--tags")
		if err != nil {
			return version{}, err
		}
		v := version{name: name, bin: filepath.Join(dir, "srdtun-head")}
		return v, compile(goCmd, top, v.bin)
	}
	hash, err := git(top, "rev-parse", "--short=9", "--verify", rev+"^{commit}")
	if err != nil {
		return version{}, fmt.Errorf("%s is no revision: %w", rev, err)
	}
	compiler, err := exec.Command(goCmd, "env", "GOVERSION", "GOAMD64", "GOEXPERIMENT").Output()
	if err != nil {
		return version{}, fmt.Errorf("%s env: %w", goCmd, err)
	}
	v := version{name: hash, bin: filepath.Join(dir, "srdtun-"+hash+"-"+strings.Join(strings.Fields(string(compiler)), "-"))}
	if _, err := os.Stat(v.bin); err == nil {
		return v, nil // the binary exists, and a revision does not change
	}
	scratch, err := fabric.Scratch()
	if err != nil {
		return v, err
	}
	source, err := os.MkdirTemp(scratch, "regress-")
	if err != nil {
		return v, err
	}
	defer os.RemoveAll(source)
	if err := extract(top, hash, source); err != nil {
		return v, err
	}
	return v, compile(goCmd, source, v.bin)
}

// extract writes the source tree of a revision to a folder.
func extract(top, hash, to string) error {
	archive := exec.Command("git", "-c", "safe.directory=*", "-C", top, "archive", hash)
	unpack := exec.Command("tar", "-x", "-C", to)
	pipe, err := archive.StdoutPipe()
	if err != nil {
		return err
	}
	unpack.Stdin = pipe
	if err := archive.Start(); err != nil {
		return err
	}
	return errors.Join(unpack.Run(), archive.Wait())
}

// compile builds the binary with the same flags as the shipped binary.
func compile(goCmd, top, bin string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	c := exec.Command(goCmd, "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", bin+".new", "./cmd/srdtun")
	c.Dir, c.Env = top, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go build in %s: %w\n%s", top, err, out)
	}
	// The binary gets its final name last, so that an interrupted build leaves no incomplete binary
	// under this name.
	return os.Rename(bin+".new", bin)
}

func git(top string, args ...string) (string, error) {
	c := exec.Command("git", append([]string{"-c", "safe.directory=*", "-C", top}, args...)...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if err != nil {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return strings.TrimSpace(string(out)), err
}
