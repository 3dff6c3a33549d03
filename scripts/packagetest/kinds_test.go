package main

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func namesOf(groups []group) (v []string) {
	for _, g := range groups {
		for _, c := range g.checks {
			v = append(v, c.name)
		}
	}
	return v
}

// If a check is selected by name, the checks that it needs must also run, in the order of the
// group.
func TestOnlyRunsWhatACheckNeeds(t *testing.T) {
	for _, c := range []struct {
		kinds []string
		only  string
		want  string
	}{
		{nil, "purge", "install start stop purge"},
		{nil, "planted,rpm", "install start apart planted rpm"},
		{[]string{"deb"}, "misspelt", "install misspelt"},
		{[]string{"rpm", "image"}, "", "rpm rpm-agents image"},
	} {
		chosen, err := choose(c.kinds, c.only)
		if got := strings.Join(namesOf(chosen), " "); err != nil || got != c.want {
			t.Errorf("%v -only %s: %s, %v; want %s", c.kinds, c.only, got, err, c.want)
		}
	}
	for _, c := range []struct {
		kinds []string
		only  string
		says  string
	}{
		{[]string{"dep"}, "", `no kind is called "dep": want source, deb, rpm, image`},
		{nil, "bare,pruge", `no check is called "pruge"`},
		{[]string{"rpm"}, "start", `no check is called "start"`},
	} {
		if _, err := choose(c.kinds, c.only); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v -only %s: %v, want %s", c.kinds, c.only, err, c.says)
		}
	}
}

// All names must differ, and a check must follow the checks that it needs.
func TestChecksAreInOrder(t *testing.T) {
	all := namesOf(groups)
	slices.Sort(all)
	if len(slices.Compact(slices.Clone(all))) != len(all) {
		t.Errorf("a name is there twice: %q", all)
	}
	for _, g := range groups {
		seen := map[string]bool{}
		for _, c := range g.checks {
			for _, n := range c.needs {
				if !seen[n] {
					t.Errorf("%s needs %s, which is not before it", c.name, n)
				}
			}
			seen[c.name] = true
			if (c.here == nil) == (g.place == here) || (c.host == nil) == (g.place != here) {
				t.Errorf("%s cannot run where its group does", c.name)
			}
		}
	}
}

// The program must know all steps of the Dockerfile, and an unknown step must be an error.
func TestDockerfileIsKnown(t *testing.T) {
	text, err := os.ReadFile("../../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	d := &dockerfile{}
	if err := d.steps(string(text)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.entry, []string{"/usr/bin/srdtun"}) || len(d.cmd) == 0 || len(d.health) < 2 || len(d.script) < 6 {
		t.Errorf("%+v", d)
	}
	for _, c := range []string{"FROM ubuntu", "FROM scratch AS a\nRUN true", "FROM golang:1-bookworm\nUSER 1"} {
		if err := (&dockerfile{}).steps(c); err == nil || !strings.Contains(err.Error(), "is not known here") {
			t.Errorf("%q: %v", c, err)
		}
	}
}
