package main

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"strings"
	"time"
)

// change is the relative change of a figure without a rule. If it is above zero the figure
// is worse. For goodput and shares, a lower value is worse.
type change struct {
	bench, figure string
	mean, err     float64 // of the mean over the seeds
}

// certain reports whether a change is larger than chance explains: three standard errors.
// Each rule has some dozens of figures, and one of them would exceed two standard errors by
// chance.
func (c *change) certain() bool { return math.Abs(c.mean) > 3*c.err }

// worthKeeping is the smallest change of a figure that justifies a rule.
const worthKeeping = 0.02

// changesOf compares the results without a rule to those with all rules. open is the number
// of benches that have no results yet.
func changesOf(o *options, name string) (v []change, open int) {
	for i := range benches {
		b := &benches[i]
		with, without := b.load(o, whole), b.load(o, name)
		if with == nil || without == nil {
			open++
			continue
		}
		for k, figure := range b.figures {
			var logs []float64
			for seed := range with.Rows {
				if x, y := with.Rows[seed][k], without.Rows[seed][k]; x > 0 && y > 0 {
					logs = append(logs, math.Log(y/x))
				}
			}
			mean, err := meanOf(logs)
			if strings.HasPrefix(figure, "goodput") || strings.HasSuffix(figure, "share") {
				mean = -mean
			}
			v = append(v, change{b.String(), strings.TrimSuffix(figure, "_us"), math.Expm1(mean), err})
		}
	}
	return v, open
}

// meanOf returns a mean and its standard error.
func meanOf(v []float64) (mean, err float64) {
	if len(v) < 2 {
		return 0, 0
	}
	n, squares := float64(len(v)), 0.0
	for _, x := range v {
		mean += x / n
	}
	for _, x := range v {
		squares += (x - mean) * (x - mean)
	}
	return mean, math.Sqrt(squares / (n - 1) / n)
}

// extremes returns the largest certain gain by a rule, and the largest certain loss. Either is nil
// if there is none.
func extremes(v []change) (best, worst *change) {
	for i := range v {
		c := &v[i]
		if c.certain() && c.mean > 0 && (best == nil || c.mean > best.mean) {
			best = c
		}
		if c.certain() && c.mean < 0 && (worst == nil || c.mean < worst.mean) {
			worst = c
		}
	}
	return best, worst
}

func (c *change) String() string {
	if c == nil {
		return "nothing"
	}
	return fmt.Sprintf("%+.1f ± %.1f %% %s of %s", 100*c.mean, 100*c.err, c.figure, c.bench)
}

// These are the verdicts on a rule worth keeping, and on a rule without results.
const (
	keep      = "keep"
	notPlayed = "not played"
)

// verdict judges a rule by its figures and by the failures without it. A single figure or
// failure is enough to keep the rule. To delete the rule, all of them are needed. played
// reports whether the seeds and the tests were played.
func verdict(v []change, best *change, open int, played bool, fails string) string {
	switch {
	case best != nil && best.mean >= worthKeeping, fails != "":
		return keep
	case len(v) == 0 && !played:
		return notPlayed
	case open > 0:
		return fmt.Sprintf("open: %d of %d benches not played", open, len(benches))
	case !played:
		return "open: seeds or tests not played"
	}
	return "delete"
}

// verdictOn returns the verdict from a rule's stored results, with its reasons.
func verdictOn(o *options, name string) (says string, best, worst *change, fails string) {
	v, open := changesOf(o, name)
	best, worst = extremes(v)
	seeds, seedsOff := loadFailed(o, swarmKind, whole), loadFailed(o, swarmKind, name)
	tests, testsOff := loadFailed(o, testsKind, whole), loadFailed(o, testsKind, name)
	fails = named(append(seedsOff.without(seeds), testsOff.without(tests)...))
	played := seeds != nil && seedsOff != nil && tests != nil && testsOff != nil
	return verdict(v, best, open, played, fails), best, worst, fails
}

// named returns the first of several names, and the number of the others.
func named(v []string) string {
	const shown = 3
	if n := len(v); n > shown {
		return fmt.Sprintf("%s and %d more", strings.Join(v[:shown], ", "), n-shown)
	}
	return strings.Join(v, ", ")
}

// kept reports whether a rule's results so far are enough to keep the rule.
func kept(o *options, name string) bool {
	says, _, _, _ := verdictOn(o, name)
	return says == keep
}

// version returns the last commit that changed the code under test, with a mark if there are
// uncommitted changes.
func version() (string, error) {
	commit, err := exec.Command("git", "log", "-1", "--format=%h", "--", "srd", "sim", "lab").Output()
	if err != nil {
		return "", err
	}
	changed, err := exec.Command("git", "status", "--porcelain", "--", "srd", "sim", "lab").Output()
	v := strings.TrimSpace(string(commit))
	if len(changed) > 0 {
		v += "-dirty"
	}
	return v, err
}

// rowsOf returns the rows of a ledger by the names of the rules.
func rowsOf(doc string) (map[string]string, error) {
	text, err := os.ReadFile(doc)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rows := map[string]string{}
	for row := range strings.Lines(string(text)) {
		if name, rest, ok := strings.Cut(strings.TrimPrefix(row, "| "), " | `"); ok && rest != "" {
			rows[name] = row
		}
	}
	return rows, nil
}

// writeDoc writes the ledger of the results on version now. A rule without results keeps its
// row.
func writeDoc(o *options, now string) error {
	before, err := rowsOf(o.doc)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# Rules, and what each buys\n\n"+
		"Written by `make ablate` on %s; don't edit it. Each rule was switched off by itself (lab/ablate/rules.go has the\n"+
		"edits), and the same %d seeds were played with and without it.\n\n"+
		"- **buys**: the goal that suffers most without the rule. **costs**: the goal that gains most. Each has the standard\n"+
		"  error of its mean, and is left out below three of these errors.\n"+
		"- **verdict**: a rule that buys %g %% of any goal is kept, without further runs. Any other rule is kept if seeds of the\n"+
		"  swarm **fail** without it (1 to %d, and all that failed before), or tests of networks, of connections or of liars.\n"+
		"  **Delete** means that nothing here needs the rule.\n"+
		"- **of**: the version that was played.\n\n",
		time.Now().UTC().Format(time.DateOnly), o.seeds, 100*worthKeeping, soakSeeds)
	b.WriteString("| rule | equation | constants | source | buys | costs | fail | verdict | of |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, r := range rules {
		says, best, worst, fails := verdictOn(o, r.name)
		if row := before[r.name]; row != "" && says == notPlayed && fails == "" {
			b.WriteString(row)
			continue
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %v | %v | %s | %s | %s |\n", r.name, r.equation, r.constants, r.source, best, worst, fails, says, now)
	}
	b.WriteString("\nThe benches (plan, case, host):\n\n")
	for i := range benches {
		x := &benches[i]
		fmt.Fprintf(&b, "- %v: %s\n", x, strings.Join(x.figures, ", "))
	}
	return os.WriteFile(o.doc, []byte(b.String()), 0o644)
}

// printChanges prints all certain changes without a rule, and the verdict.
func printChanges(o *options, name string) {
	v, _ := changesOf(o, name)
	for i := range v {
		if c := &v[i]; c.certain() {
			fmt.Println(c)
		}
	}
	says, _, _, fails := verdictOn(o, name)
	if fails != "" {
		fmt.Println("fail:", fails)
	}
	fmt.Println(says)
}
