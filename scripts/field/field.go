// Package field makes copies of the source tree for small edits. Commands use the copies to find
// the effect of each edit on the tests.
package field

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
)

// left lists the folders that are not copied. srdsim imports none of them, and the tests of its
// packages read nothing in them.
var left = []string{".git", "bin", "out", "e2e", "bench"}

// Edit is a small change of one source file. The text Old must occur exactly once in File, and is
// replaced by New.
type Edit struct {
	File     string // path from the top of the source tree, with slashes
	Old, New string
}

// Field is a copy of the source tree.
type Field struct {
	Dir    string
	Srdsim string // the simulator that was built last
	goCmd  string
}

// New copies the source tree in the working folder.
func New(goCmd, name string) (*Field, error) {
	if _, err := os.Stat("go.mod"); err != nil {
		return nil, errors.New("run it at the top of the tree")
	}
	dir, err := os.MkdirTemp("", name+"-")
	if err != nil {
		return nil, err
	}
	f := &Field{Dir: dir, Srdsim: filepath.Join(dir, "bin", "srdsim"), goCmd: goCmd}
	if err := f.copyTree(); err != nil {
		f.Remove()
		return nil, err
	}
	return f, nil
}

// Remove removes the copy.
func (f *Field) Remove() { os.RemoveAll(f.Dir) }

func (f *Field) copyTree() error {
	return filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(left, file):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(f.Dir, file), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(f.Dir, file), b, 0o644)
	})
}

// Apply makes edits in the copy, and returns a function that undoes them. If one of the edits
// fails, Apply makes none.
func (f *Field) Apply(edits []Edit) (undo func() error, err error) {
	was := map[string][]byte{}
	undo = func() (err error) {
		for file, b := range was {
			err = errors.Join(err, os.WriteFile(file, b, 0o644))
		}
		return err
	}
	for _, e := range edits {
		file := filepath.Join(f.Dir, filepath.FromSlash(e.File))
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, errors.Join(err, undo())
		}
		is, err := e.apply(b)
		if err != nil {
			return nil, errors.Join(err, undo())
		}
		if was[file] == nil {
			was[file] = b
		}
		if err := os.WriteFile(file, is, 0o644); err != nil {
			return nil, errors.Join(err, undo())
		}
	}
	return undo, nil
}

// Check checks that each edit is possible in the tree below a folder, and returns nil if so.
func Check(top string, edits []Edit) error {
	text := map[string][]byte{}
	for _, e := range edits {
		b, ok := text[e.File]
		if !ok {
			var err error
			if b, err = os.ReadFile(filepath.Join(top, filepath.FromSlash(e.File))); err != nil {
				return err
			}
		}
		is, err := e.apply(b)
		if err != nil {
			return err
		}
		text[e.File] = is
	}
	return nil
}

// apply returns the text b after the edit.
func (e *Edit) apply(b []byte) ([]byte, error) {
	if n := bytes.Count(b, []byte(e.Old)); n != 1 {
		return nil, fmt.Errorf("%s has the text to be replaced %d times: %.60q", e.File, n, e.Old)
	}
	if e.Old == e.New {
		return nil, fmt.Errorf("%s: an edit that changes nothing: %.60q", e.File, e.Old)
	}
	return bytes.Replace(b, []byte(e.Old), []byte(e.New), 1), nil
}

// Build builds the simulator in the copy.
func (f *Field) Build() error {
	build := exec.Command(f.goCmd, "build", "-C", "lab", "-o", f.Srdsim, "./srdsim")
	build.Dir = f.Dir
	if text, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("does not build: %w\n%s", err, text)
	}
	return nil
}

// Tests runs `go test` in the copy with the given arguments, until one fails, and returns the
// names of the failed tests. Arguments that begin with -C and a folder are for the module in that
// folder.
func (f *Field) Tests(ctx context.Context, args ...string) ([]string, error) {
	dir := f.Dir
	if len(args) > 1 && args[0] == "-C" {
		dir, args = filepath.Join(dir, args[1]), args[2:]
	}
	c := exec.CommandContext(ctx, f.goCmd, append([]string{"test", "-count", "1", "-failfast", "-timeout", "5m"}, args...)...)
	c.Dir = dir
	text, err := c.CombinedOutput()
	names := failedIn(string(text))
	// A failed test is an expected result, but a run without a failed test's name is an error.
	var status *exec.ExitError
	if ctx.Err() != nil || err != nil && (!errors.As(err, &status) || len(names) == 0) {
		return nil, fmt.Errorf("%v: %w: %s", c.Args, err, text)
	}
	return names, nil
}

// failedTest matches a test that failed, or that was running when the time limit expired. A test
// that hangs counts as failed, too.
var failedTest = regexp.MustCompile(`(?m)^(?:--- FAIL: |\t+)((?:Test|Fuzz|Example)\w+)(?:/\S*)? \(`)

// failedIn returns the names of failed tests in the output of `go test`.
func failedIn(text string) (v []string) {
	for _, m := range failedTest.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(v, m[1]) {
			v = append(v, m[1])
		}
	}
	return v
}
