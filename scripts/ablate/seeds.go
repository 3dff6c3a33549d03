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

// soakSeeds are the first of the swarm's seeds, played for a rule that no bench keeps: some rules
// are for what a bench does not have, and "no seed fails" is a goal as well. Those that failed once
// (TestSeedsThatFailed) are played with them. It takes half a minute.
const soakSeeds = 400

// failed is which seeds fail with a rule off.
type failed struct {
	Rule  string
	Seeds []int
}

// seedsFile is where they are kept.
func seedsFile(o *options, rule string) string {
	return (&bench{plan: "swarm", host: "any"}).file(o, rule)
}

// loadSeeds returns what was played; nil: nothing.
func loadSeeds(o *options, rule string) *failed {
	text, err := os.ReadFile(seedsFile(o, rule))
	v := &failed{}
	if err != nil || json.Unmarshal(text, v) != nil {
		return nil
	}
	return v
}

// playSeeds plays the swarm with what is built in f.
func playSeeds(ctx context.Context, f *field.Field, o *options, rule string) error {
	soak := exec.CommandContext(ctx, f.Srdsim, "soak", "--seeds", fmt.Sprintf("1..%d", soakSeeds))
	again := exec.CommandContext(ctx, o.goCmd, "test", "-count", "1", "-run", "^TestSeedsThatFailed$", "./sim")
	again.Dir = f.Dir
	v := &failed{Rule: rule}
	for _, c := range []struct {
		*exec.Cmd
		begin string // of a line that names a seed
	}{{soak, "seed "}, {again, "--- FAIL: TestSeedsThatFailed/"}} {
		text, err := c.Output()
		seeds := seedsAfter(string(text), c.begin)
		// That seeds fail is what is asked; that nothing was played is an error.
		var status *exec.ExitError
		if ctx.Err() != nil || err != nil && (!errors.As(err, &status) || len(seeds) == 0) {
			return fmt.Errorf("%v: %w: %s", c.Args, err, text)
		}
		v.Seeds = append(v.Seeds, seeds...)
	}
	slices.Sort(v.Seeds)
	return save(seedsFile(o, rule), v)
}

// seedsAfter returns the numbers that follow begin at the begin of text's lines.
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

// without returns the seeds that fail with the rule off and do not with all of them on.
func (v *failed) without(whole *failed) (seeds []string) {
	if v == nil || whole == nil {
		return nil
	}
	for _, n := range v.Seeds {
		if !slices.Contains(whole.Seeds, n) {
			seeds = append(seeds, strconv.Itoa(n))
		}
	}
	return seeds
}
