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

// soakSeeds is the number of the swarm's first seeds that are played for a rule that no
// bench justifies. Some rules serve situations that no bench has, and "no seed fails" is
// also a goal. The seeds that failed in the past (TestSeedsThatFailed) are played too. This
// takes half a minute.
const soakSeeds = 400

// failed lists the seeds, or tests, that fail with a rule disabled.
type failed struct {
	Rule  string
	Names []string
}

// These are the kinds of failures, which are part of a file's name.
const (
	swarmKind = "swarm"
	testsKind = "tests"
)

// failedFile returns the file in which failures are stored.
func failedFile(o *options, kind, rule string) string {
	return (&bench{plan: kind, host: "any"}).file(o, rule)
}

// loadFailed returns the stored failures, or nil if none have been played.
func loadFailed(o *options, kind, rule string) *failed {
	text, err := os.ReadFile(failedFile(o, kind, rule))
	v := &failed{}
	if err != nil || json.Unmarshal(text, v) != nil {
		return nil
	}
	return v
}

// without returns the failures with the rule disabled that do not occur with all rules.
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

// playSeeds plays the swarm with the program built in f.
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
		// A failing seed is a result. A failure that names no seed is an error.
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

// seedsAfter returns the numbers after the word begin at the start of lines.
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
