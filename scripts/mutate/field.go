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
	// playMost is how long the seeds of one bug may take: many times what they do
	// without. A bug that hangs is caught by that too.
	playMost = 10 * time.Minute
	// howBytes of a failure are shown.
	howBytes = 110
	// byTest stands where a seed would for what only a test has caught.
	byTest = "test"
)

// field is a copy of the tree in which bugs are planted.
type field struct {
	*tree.Field
	seeds int
}

// verdict says whether and how a bug was caught; or, with how alone, why it could not be planted.
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

// plant makes the edit of b, plays, and takes it back. What no seed shows a test may.
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

// play builds the simulator and plays seeds until one fails. That it does not build is no error:
// the code around a bug is not what it was.
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

// test runs the tests of the transport until one fails, and then those of a tunnel beside plain TCP: what a
// congestion law does to others shows only there.
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
