package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const planText = `
title = "two to one"
source = "a test"
seeds = [1, 2]
limit = "10ms"
[network]
topology = "ls32.topo"
queue = 400_000
[transport.srd]
kind = "srd"
ports = 8
mtu = 9000
granularity = "1us"
[[case]]
name = "good one"
transport = "srd"
at_most = { max_us = 100_000 }
[[case.flow]]
src = 1
dst = 17
size = 100_000
count = 2
`

// planFile writes a plan, and its topology.
func planFile(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	top, err := os.ReadFile("../testdata/ls32.topo")
	if err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"ls32.topo": top, "p.toml": []byte(text)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "p.toml")
}

func srdsim(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	r := root()
	r.SetArgs(args)
	r.SetOut(&out)
	r.SetErr(&out)
	err := r.Execute()
	return out.String(), err
}

// A plan is run with all its seeds, and its results are written. The subcommand report passes a
// figure to srdplot.
func TestRunAndReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "results")
	out, err := srdsim(t, "run", "-o", dir, planFile(t, planText))
	if err != nil || !strings.Contains(out, "good one") || !strings.Contains(out, "met") {
		t.Fatalf("%v, output %s", err, out)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "p.good-one.*.json")); len(files) != 2 { // one file for each of two seeds
		t.Fatalf("results %v", files)
	}
	fake := filepath.Join(t.TempDir(), "srdplot")
	if err := os.WriteFile(fake, []byte("#!/bin/sh\ncat > \"$2\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	out, err = srdsim(t, "report", "--format", "svg", "--srdplot", fake, dir)
	if err != nil || !strings.Contains(out, "good one") {
		t.Fatalf("%v, output %s", err, out)
	}
	b, err := os.ReadFile(filepath.Join(dir, "p.fct.svg"))
	if err != nil {
		t.Fatal(err)
	}
	var f figure
	if err := json.Unmarshal(b, &f); err != nil || len(f.Lines) != 1 {
		t.Fatalf("%v, %d lines", err, len(f.Lines))
	}
	// With two flows and two seeds, the distribution has four steps from 0 to 1.
	p := f.Lines[0].Points
	if len(p) != 8 || p[0][1] != 0 || p[7][1] != 1 || p[0][0] > p[7][0] {
		t.Errorf("points %v", p)
	}
}

// The output names a missed goal, and the command fails.
func TestMissedGoal(t *testing.T) {
	out, err := srdsim(t, "run", "--seed", "7", planFile(t, strings.Replace(planText, "100_000 }", "1 }", 1)))
	if !errors.Is(err, errFailed) || !strings.Contains(out, "missed: max_us") {
		t.Errorf("%v, output %s", err, out)
	}
}

// A case with no_worse is compared with the other case, whatever their order is. The other case is
// run even if the command line does not select it.
func TestNoWorse(t *testing.T) {
	text := strings.Replace(planText, "at_most = { max_us = 100_000 }", `no_worse = ["plain"]`, 1) + `
[transport.tcp]
kind = "tcp"
mtu = 9000
[[case]]
name = "plain"
transport = "tcp"
[[case.flow]]
src = 1
dst = 17
size = 100_000
`
	for _, only := range []string{"", "good"} {
		out, err := srdsim(t, "run", "--seed", "7", "--host", "ideal", "--case", only, planFile(t, text))
		if !errors.Is(err, errFailed) || !strings.Contains(out, "missed: mean_of_best") || strings.Contains(out, "plain") != (only == "") {
			t.Errorf("--case %q: %v, output %s", only, err, out)
		}
	}
}

func TestRunErrors(t *testing.T) {
	for _, c := range [][]string{
		{"run"},
		{"run", filepath.Join(t.TempDir(), "none.toml")},
		{"report", t.TempDir()},
		{"report", "--format", "gif", t.TempDir()},
	} {
		if out, err := srdsim(t, c...); err == nil {
			t.Errorf("srdsim %s: no error, output %s", strings.Join(c, " "), out)
		}
	}
}
