package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/srdtun/srdtun/scripts/field"
)

// soakSeeds are the first of the swarm's seeds, played for a rule that no bench keeps. Some
// rules serve cases that no bench has, and "no seed fails" is a goal as well. The seeds that
// failed once (TestSeedsThatFailed) are played too. It takes half a minute.
const soakSeeds = 400

// failed is the seeds, or tests, that fail with a rule off.
type failed struct {
	Rule  string
	Names []string
}

// The kinds of failed, which name its file.
const (
	swarmKind = "swarm"
	testsKind = "tests"
)

// failedFile is where failures are kept.
func failedFile(o *options, kind, rule string) string {
	return (&bench{plan: kind, host: "any"}).file(o, rule)
}

// loadFailed returns the stored failures; nil: not played.
func loadFailed(o *options, kind, rule string) *failed {
	text, err := os.ReadFile(failedFile(o, kind, rule))
	v := &failed{}
	if err != nil || json.Unmarshal(text, v) != nil {
		return nil
	}
	return v
}

// without returns the failures with the rule off that do not occur with all rules on.
func (v *failed) without(whole *failed) (names []string) {
	if v == nil || whole == nil {
		return nil
	}
	for _, n := range v.Names {
		if !slices.Contains(whole.Names, n) {
			names = append(names, n)
		}
	}
	return names
}

// playSeeds plays the swarm with the build in f.
func playSeeds(ctx context.Context, f *field.Field, o *options, rule string) error {
	// Their speed is not judged here: benches do that.
	soak := exec.CommandContext(ctx, f.Srdsim, "soak", "--seeds", fmt.Sprintf("1..%d", soakSeeds), "--record", os.DevNull)
	again := exec.CommandContext(ctx, o.goCmd, "test", "-count", "1", "-run", "^TestSeedsThatFailed$", "./sim/swarm")
	again.Dir = f.Dir
	var failing []int
	for _, c := range []struct {
		*exec.Cmd
		begin string // of a line that names a seed
	}{{soak, "seed "}, {again, "--- FAIL: TestSeedsThatFailed/"}} {
		text, err := c.Output()
		seeds := seedsAfter(string(text), c.begin)
		// A failing seed is a result. A failure without a seed is an error.
		var status *exec.ExitError
		if ctx.Err() != nil || err != nil && (!errors.As(err, &status) || len(seeds) == 0) {
			return fmt.Errorf("%v: %w: %s", c.Args, err, text)
		}
		failing = append(failing, seeds...)
	}
	slices.Sort(failing)
	v := &failed{Rule: rule}
	for _, n := range failing {
		v.Names = append(v.Names, strconv.Itoa(n))
	}
	return save(failedFile(o, swarmKind, rule), v)
}

// seedsAfter returns the numbers behind begin at the start of lines.
func seedsAfter(text, begin string) (v []int) {
	for line := range strings.Lines(text) {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), begin)
		if !ok {
			continue
		}
		end := strings.IndexFunc(rest, func(r rune) bool { return r < '0' || r > '9' })
		if n, err := strconv.Atoi(rest[:max(0, end)]); err == nil {
			v = append(v, n)
		}
	}
	return v
}
