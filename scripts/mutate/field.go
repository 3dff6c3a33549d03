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
	// playMost bounds the time of all seeds for one bug, so that a bug is also caught if the
	// simulator hangs. The bound is many times the duration without a bug.
	playMost = 10 * time.Minute
	// howBytes bounds the displayed part of a failure's message, in bytes.
	howBytes = 110
	// byTest replaces the seed in the table if only a test caught the bug.
	byTest = "test"
)

// field is a copy of the source tree for planted bugs.
type field struct {
	*tree.Field
	seeds int
}

// verdict says whether a bug was caught, and by which failure. If only the field how is set, it
// says why the bug could not be planted.
type verdict struct {
	caught    bool
	seed, how string
}

// newField copies the source tree in the working folder.
func newField(goCmd string, seeds int) (*field, error) {
	f, err := tree.New(goCmd, "mutate")
	return &field{f, seeds}, err
}

// edit returns the bug as an edit of the source tree.
func (b *bug) edit() tree.Edit { return tree.Edit{File: b.file, Old: b.old, New: b.new} }

// plant makes the edit of b, simulates the seeds, and undoes the edit. A test may catch a bug
// that no seed detects.
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

// play builds the simulator, and simulates seeds until one fails. If the build fails, the verdict
// says that the code around the bug has changed.
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

// test runs the transport's tests until one fails. Afterwards, test runs the tests of a tunnel that
// shares a link with plain TCP. Only these tests show how a congestion law treats other flows.
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

// slower is the start of the line for a run whose seeds together are slower.
const slower = "races are slower"

// read extracts the failed seed and its failure from the output of srdsim soak.
func read(out []byte) verdict {
	v := verdict{caught: true, seed: "?", how: "a crash"}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), slower) && v.seed == "?" {
			v.seed, v.how = "all", lines.Text()
		}
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
