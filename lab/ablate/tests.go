package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"github.com/srdtun/srdtun/scripts/field"
)

// ofLinks are the tests of congestion control on a link, alone or beside other traffic. The
// tests in ofLiars have a peer that lies about holds or clocks.
const (
	ofLinks = "^(TestDeepBufferStaysShort|TestJitterIsNoQueue|TestLuckyPathMakesNoFabric|TestQueueOfMany|" +
		"TestUnlikeBasesShareALink|TestLossByChanceIsNoOverflow|TestShallowBufferSeldomRunsOver|" +
		"TestDeepBufferIsShared|TestLongerWayIsNoQueue|TestTunnelsAreNoRivals|TestPauseBesideOthersIsNoBurst|" +
		"TestUnusedWindowIsCutFirst|TestHostsQueueIsNoRivals|" +
		"TestLoneSenderBearsChance|TestLoneSenderOnAShortWayBearsChance|TestLongerWayBearsChance|TestFlowsComeAndGo|" +
		"TestManyFlowsAloneLoseLittle|TestOutageIsForgotten|TestLossesWhileIdleCostLittle|TestWhatOthersLeaveIsTaken|" +
		"TestShortWayWinsBackInRoundTrips|TestChanceThatBeginsLateIsFoundOut)$"
	ofLiars = "^(TestScriptHoldHidesNoQueue|TestScriptLiesAboutHoldsFillNoBuffer|TestScriptClockHidesLittle)$"
)

// playTests runs the tests of user-visible behaviour: of simulated networks and links, of liars,
// and of connections from outside. Any other test in srd may test the rule itself; such a test
// would go with the rule. It stops after the first group with failures.
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
		names, err := f.Tests(ctx, args...)
		if err != nil {
			return err
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
