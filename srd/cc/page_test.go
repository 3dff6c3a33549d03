package cc

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// The rows of docs/transport.md contain the values of the code's constants.
func TestPageHasTheConstants(t *testing.T) {
	page, err := os.ReadFile("../../docs/transport.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for _, line := range strings.Split(string(page), "\n") {
		if cells := strings.Split(line, " | "); len(cells) == 4 {
			rows[strings.TrimPrefix(cells[0], "| ")] = cells[2]
		}
	}
	text := func(d time.Duration) string {
		if d < time.Second {
			return fmt.Sprintf("%g ms", d.Seconds()*1e3)
		}
		return fmt.Sprintf("%g s", d.Seconds())
	}
	percent := func(share float64) string { return fmt.Sprintf("%g %%", 100*share) }
	for row, wants := range map[string][]string{
		"W3":  {fmt.Sprintf("%d deviations", scatters), text(TargetCeiling), fmt.Sprintf("%d empty", jitterBases), text(jitterMost)},
		"W4":  {text(TargetFloor), text(TargetCeiling)},
		"W8":  {fmt.Sprintf("n = %d to %d packets", lossLeast, lossMost), fmt.Sprintf("%g sqrt", lossSigmas), fmt.Sprintf("%g chance + %s", chanceMost, percent(lossTolerated)), fmt.Sprintf("max(%g, %g (1 - %d k/n)) w", cubicBeta, headroom, lossWeight)},
		"W9":  {percent(chanceCeiling)},
		"W11": {text(drainEvery), fmt.Sprintf("w/%g", 1/drainShare)},
		"W13": {fmt.Sprintf("%g/4 w", 4*paceGain)},
		"W14": {fmt.Sprintf("%d T for %d rounds", contendedTargets, contendedRounds), fmt.Sprintf("for %d at half", starvedRounds)},
		"W15": {fmt.Sprintf("%d packets", InitialWindow/MSS), fmt.Sprintf("%d at most", flowsMost)},
		"W16": {fmt.Sprintf("1/%d", samePart)},
	} {
		for _, want := range wants {
			if !strings.Contains(rows[row], want) {
				t.Errorf("%s: %q lacks %q", row, rows[row], want)
			}
		}
	}
	if sameAnswers != 3 || smoothing != 4 || !strings.Contains(string(page), "a quarter of a window") {
		t.Error("the page says three drains and a quarter of a window")
	}
}
