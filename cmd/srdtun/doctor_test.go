package main

import (
	"strings"
	"testing"

	"github.com/srdtun/srdtun/cmd/srdtun/internal/doctor"
)

// A finding without a fault is one line; only a fault has advice.
func TestFindingsThatAreWellAreOneLine(t *testing.T) {
	var b strings.Builder
	writeFindings(&b, []doctor.Finding{
		{Check: "nat", Level: doctor.OK, Saw: "ports are kept", Why: "some NATs do not", Advice: "none"},
		{Check: "mtu", Level: doctor.Warning, Saw: "it is small", Why: "a link is narrow", Advice: "widen it"},
	})
	if got := b.String(); strings.Count(got, "why:") != 1 || strings.Count(got, "do:") != 1 || strings.Contains(got, "some NATs") {
		t.Errorf("%s", got)
	}
}
