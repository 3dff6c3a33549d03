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
	// playMost bounds the time for the seeds of one bug: many times the time without a bug. So
	// a bug that hangs is caught too.
	playMost = 10 * time.Minute
	// howBytes bytes of a failure's message are shown.
	howBytes = 110
	// byTest is printed in place of the seed if only a test caught the bug.
	byTest = "test"
)

// field is a copy of the tree for planted bugs.
type field struct {
	*tree.Field
	seeds int
}

// verdict says whether and how a bug was caught. If only how is set, it says why the bug could
// not be planted.
type verdict struct {
	caught    bool
	seed, how string
}

// newField copies the tree at the working folder.
func newField(goCmd string, seeds int) (*field, error) {
	f, err := tree.New(goCmd, "mutate")
	return &field{f, seeds}, err
}

// edit returns b as an edit of the tree.
func (b *bug) edit() tree.Edit { return tree.Edit{File: b.file, Old: b.old, New: b.new} }

// plant makes the edit of b, plays seeds, and undoes the edit. A test may catch a bug that no
// seed shows.
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

// play builds the simulator and plays seeds until one fails. A failed build is reported as a
// change of the code around the bug, not as an error.
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

// slower begins the line of a run whose seeds together are slower.
const slower = "races are slower"

// read extracts the seed and the breach from the output of soak.
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
