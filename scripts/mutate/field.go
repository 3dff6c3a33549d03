package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const (
	// playMost is how long the seeds of one bug may take: many times what they do
	// without. A bug that hangs is caught by that too.
	playMost = 10 * time.Minute
	// howBytes of a failure are shown.
	howBytes = 110
)

// left are the folders that are not copied: nothing in them is compiled.
var left = []string{".git", "bin", "out", "docs", "e2e", "scripts"}

// field is a copy of the tree in which bugs are planted.
type field struct {
	goCmd  string
	seeds  int
	dir    string
	srdsim string
}

// verdict says whether and how a bug was caught.
type verdict struct {
	caught    bool
	seed, how string
}

// newField copies the tree whose top is the working folder.
func newField(goCmd string, seeds int) (*field, error) {
	if _, err := os.Stat("go.mod"); err != nil {
		return nil, errors.New("run it at the top of the tree")
	}
	dir, err := os.MkdirTemp("", "mutate-")
	if err != nil {
		return nil, err
	}
	f := &field{goCmd: goCmd, seeds: seeds, dir: dir, srdsim: filepath.Join(dir, "bin", "srdsim")}
	if err := f.copyTree(); err != nil {
		f.remove()
		return nil, err
	}
	return f, nil
}

func (f *field) remove() { os.RemoveAll(f.dir) }

func (f *field) copyTree() error {
	return filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains(left, file):
			return filepath.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(f.dir, file), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(f.dir, file), b, 0o644)
	})
}

// plant makes the edit of b, plays, and takes it back.
func (f *field) plant(b bug) (v verdict, err error) {
	was, is, err := f.edit(b)
	if err != nil {
		return v, err
	}
	file := f.path(b)
	if err := os.WriteFile(file, is, 0o644); err != nil {
		return v, err
	}
	v, err = f.play()
	return v, errors.Join(err, os.WriteFile(file, was, 0o644))
}

func (f *field) path(b bug) string { return filepath.Join(f.dir, filepath.FromSlash(b.file)) }

// edit returns b's file as it is, and as it is to be.
func (f *field) edit(b bug) (was, is []byte, err error) {
	if was, err = os.ReadFile(f.path(b)); err != nil {
		return nil, nil, err
	}
	if n := bytes.Count(was, []byte(b.old)); n != 1 {
		return nil, nil, fmt.Errorf("%s has the text to be replaced %d times", b.file, n)
	}
	return was, bytes.Replace(was, []byte(b.old), []byte(b.new), 1), nil
}

// play builds the simulator and plays seeds until one fails.
func (f *field) play() (v verdict, err error) {
	build := exec.Command(f.goCmd, "build", "-o", f.srdsim, "./cmd/srdsim")
	build.Dir = f.dir
	if text, err := build.CombinedOutput(); err != nil {
		return v, fmt.Errorf("does not build: %w\n%s", err, text)
	}
	ctx, cancel := context.WithTimeout(context.Background(), playMost)
	defer cancel()
	soak := exec.CommandContext(ctx, f.srdsim, "soak", "--first", "--seeds", fmt.Sprintf("1..%d", f.seeds))
	out, err := soak.Output()
	var status *exec.ExitError
	switch {
	case err == nil:
		return v, nil
	case ctx.Err() != nil:
		return verdict{true, "?", "it does not end"}, nil
	case errors.As(err, &status):
		return read(out), nil
	}
	return v, err
}

// read takes seed and breach from what soak prints.
func read(out []byte) verdict {
	v := verdict{caught: true, seed: "?", how: "a crash"}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if rest, ok := strings.CutPrefix(lines.Text(), "seed "); ok && v.seed == "?" {
			v.seed, _, _ = strings.Cut(rest, ":")
			if lines.Scan() {
				v.how = strings.TrimSpace(lines.Text())
				v.how = v.how[:min(len(v.how), howBytes)]
			}
		}
	}
	return v
}
