package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/scripts/field"
)

// ofLinks are the tests of congestion control that let it fill a link, alone or with others, and
// ofLiars those of a connection whose peer lies about what waited, and where.
const (
	ofLinks = "^(TestDeepBufferStaysShort|TestJitterIsNoQueue|TestLuckyPathMakesNoFabric|TestQueueOfMany|" +
		"TestUnlikeBasesShareALink|TestLossByChanceIsNoOverflow|TestShallowBufferSeldomRunsOver|" +
		"TestDeepBufferIsShared|TestLongerWayIsNoQueue|TestTunnelsAreNoRivals|TestPauseBesideOthersIsNoBurst)$"
	ofLiars = "^(TestScriptHoldHidesNoQueue|TestScriptClockHidesLittle)$"
)

// playTests runs the tests that see what users see: those of simulated networks and links, of
// liars, and of connections from outside. Another test inside of srd may be the rule's own, and goes with it. It
// ends with what fails first.
func playTests(ctx context.Context, f *field.Field, o *options, rule string) error {
	outside, err := testsOf(filepath.Join(f.Dir, "srd"), "srd_test")
	if err != nil {
		return err
	}
	v := &failed{Rule: rule}
	for _, args := range [][]string{
		{"-run", ofLinks, "./srd/cc"},
		{"-run", ofLiars, "./srd"},
		{"-skip", "^TestSeedsThatFailed$", "./sim/..."}, // played with the swarm's seeds
		{"-run", "^(" + strings.Join(outside, "|") + ")$", "./srd"},
	} {
		c := exec.CommandContext(ctx, o.goCmd, append([]string{"test", "-count", "1", "-failfast", "-timeout", "5m"}, args...)...)
		c.Dir = f.Dir
		text, err := c.CombinedOutput()
		names := testsIn(string(text))
		// That tests fail is what is asked; that there are none is an error.
		var status *exec.ExitError
		if ctx.Err() != nil || err != nil && (!errors.As(err, &status) || len(names) == 0) {
			return fmt.Errorf("%v: %w: %s", c.Args, err, text)
		}
		if v.Names = names; len(names) > 0 {
			break
		}
	}
	slices.Sort(v.Names)
	v.Names = slices.Compact(v.Names)
	return save(failedFile(o, testsKind, rule), v)
}

// testsOf returns the names of the tests of a package in a folder.
func testsOf(dir, pkg string) (v []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		if parsed.Name.Name != pkg {
			continue
		}
		for _, d := range parsed.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Test") {
				v = append(v, f.Name.Name)
			}
		}
	}
	if len(v) == 0 {
		return nil, fmt.Errorf("%s has no tests of package %s", dir, pkg)
	}
	return v, nil
}

// failedTest finds a test that failed by itself, or was under way when all were ended: one that
// waits for ever counts too.
var failedTest = regexp.MustCompile(`(?m)^(?:--- FAIL: |\t+)(Test\w+)(?:/\S*)? \(`)

// testsIn returns the names of the tests that failed, by what `go test` says.
func testsIn(text string) (v []string) {
	for _, m := range failedTest.FindAllStringSubmatch(text, -1) {
		if !slices.Contains(v, m[1]) {
			v = append(v, m[1])
		}
	}
	return v
}
