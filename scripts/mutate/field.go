package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	tree "github.com/srdtun/srdtun/scripts/field"
)

const (
	// playMost bounds the seeds of one bug: many times the time without a bug. A bug that hangs
	// is caught by it too.
	playMost = 10 * time.Minute
	// howBytes of a failure are shown.
	howBytes = 110
	// byTest replaces the seed of a bug that only a test has caught.
	byTest = "test"
)

// field is a copy of the tree for planted bugs.
type field struct {
	*tree.Field
	seeds int
}

// verdict says whether and how a bug was caught. With how alone it says why the bug could not
// be planted.
type verdict struct {
	caught    bool
	seed, how string
}

// newField copies the tree whose top is the working folder.
func newField(goCmd string, seeds int) (*field, error) {
	f, err := tree.New(goCmd, "mutate")
	return &field{f, seeds}, err
}

// edit returns b as an edit of the tree.
func (b *bug) edit() tree.Edit { return tree.Edit{File: b.file, Old: b.old, New: b.new} }

// plant makes the edit of b, plays, and undoes the edit. A test may catch a bug that no seed
// shows.
func (f *field) plant(b bug) (v verdict, err error) {
	undo, err := f.Apply([]tree.Edit{b.edit()})
	if err != nil {
		return v, err
	}
	if v, err = f.play(); err == nil && !v.caught && v.how == "" {
		v, err = f.test()
	}
	return v, errors.Join(err, undo())
}

// play builds the simulator and plays seeds until one fails. A failed build is no error: the
// code around the bug has changed.
func (f *field) play() (v verdict, err error) {
	if err := f.Build(); err != nil {
		return verdict{how: err.Error()}, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), playMost)
	defer cancel()
	soak := exec.CommandContext(ctx, f.Srdsim, "soak", "--first", "--seeds", fmt.Sprintf("1..%d", f.seeds))
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

// test runs the tests of the transport until one fails. Then it runs the tests of a tunnel
// beside plain TCP. Only the latter show how a congestion law treats other flows.
func (f *field) test() (v verdict, err error) {
	for _, args := range [][]string{{"./srd/..."}, {"-C", "lab", "-run", "^TestTunnel", "."}} {
		failed, err := f.Tests(context.Background(), args...)
		if len(failed) > 0 {
			v = verdict{true, byTest, strings.Join(failed, ", ")}
		}
		if err != nil || v.caught {
			return v, err
		}
	}
	return v, nil
}

// read takes seed and breach from the output of soak.
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
