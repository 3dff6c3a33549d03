package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// compareArgs returns the arguments of a short comparison, with files in a folder of the test.
func compareArgs(t *testing.T, args ...string) []string {
	t.Helper()
	dir := t.TempDir()
	return append([]string{"compare", "--data", "../testdata", "-o", dir,
		"--system", "spray,tcp", "--scenario", "failed", "--workload", "websearch", "--load", "0.5", "--flows", "10", "--most", "100000"}, args...)
}

// A comparison prints a table, and does not compute stored results again. If results are missing in
// the file, it computes only those.
func TestCompare(t *testing.T) {
	args := compareArgs(t)
	file := filepath.Join(args[4], "matrix.jsonl")
	first, err := srdsim(t, args...)
	if err != nil || !strings.Contains(first, "| 50 % |") || !strings.Contains(first, "of 1 situations") {
		t.Fatalf("%v, output %s", err, first)
	}
	b, err := os.ReadFile(file)
	if err != nil || strings.Count(string(b), "\n") != 2 {
		t.Fatalf("%v, results %s", err, b)
	}
	// The file has one complete line and one incomplete line.
	if err := os.WriteFile(file, b[:len(b)-20], 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := srdsim(t, args...)
	if err != nil || again != first {
		t.Errorf("%v, output %s, before it was %s", err, again, first)
	}
	if s, err := srdsim(t, append(args, "--redraw", "--flows", "11")...); err == nil {
		t.Errorf("a table without results: %s", s)
	}
}

// A comparison that is run in parts makes progress in each part, and has the same results in the
// end.
func TestCompareInPieces(t *testing.T) {
	whole, err := srdsim(t, compareArgs(t)...)
	if err != nil {
		t.Fatal(err)
	}
	args := append(compareArgs(t), "--for", "1ns", "-j", "1")
	first, err := srdsim(t, args...)
	if err != nil || strings.Contains(first, "tcp") {
		t.Errorf("%v, the first piece has everything: %s", err, first)
	}
	second, err := srdsim(t, args...)
	if cut := func(s string) string { return s[:strings.LastIndex(s, "\n/")+1] }; err != nil || cut(second) != cut(whole) {
		t.Errorf("%v, in pieces %s, at once %s", err, second, whole)
	}
}

func TestCompareRefuses(t *testing.T) {
	for _, bad := range [][]string{{"--load", "0"}, {"--fabric", "x"}, {"--seeds", "0"}, {"everything"}, {"--system", "nobody"}} {
		if s, err := srdsim(t, append(compareArgs(t), bad...)...); err == nil {
			t.Errorf("%v is taken: %s", bad, s)
		}
	}
}

// The command prints the values of a paper's figure next to its own values. For an unknown figure,
// the error has its name.
func TestPaper(t *testing.T) {
	s, err := srdsim(t, "paper", "conga-13", "--data", "..", "--srdplot", "/bin/true", "-o", t.TempDir())
	if err != nil || !strings.Contains(s, "31 servers: CONGA / MPTCP") || !strings.Contains(s, "2 to 8") {
		t.Errorf("%v, output %s", err, s)
	}
	if s, err := srdsim(t, "paper"); err != nil || strings.Count(s, "\n") < len(paperFigures) {
		t.Errorf("%v, list %s", err, s)
	}
	if s, err := srdsim(t, "paper", "conga-99"); err == nil {
		t.Errorf("a figure that is none: %s", s)
	}
}
