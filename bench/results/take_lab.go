package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/srdtun/srdtun/lab"
)

// labRow is a row of the table of simulator plans. It has the name of an experiment on the plan's
// hosts, and of its reference case, if there is one.
type labRow struct {
	title            string
	plan, name       string
	otherPlan, rival string
}

// labRows lists the plans that repeat experiments of papers. "make lab" prints the table of all
// experiments.
var labRows = []labRow{
	{"128 hosts, permutation of 2 MB, all links well", "perm-128", "0 bad", "", ""},
	{"… 4 links at a quarter of their rate", "perm-128", "4 bad", "", ""},
	{"32 hosts, permutation of 8 MiB, a dead cable", "perm-32", "dead cable", "", ""},
	{"… every cable loses 1 %", "perm-32", "1 % loss", "", ""},
	{"48 flows of 2 MB to one host", "srd-incast", "srd 2M", "srd-incast", "tcp-200ms 2M"},
	{"8 flows of 16 MiB from rack to rack", "rack8x1", "srd", "rack8x1", "tcp-200ms"},
}

func takePlans(dir string) (*table, error) {
	runs, date, err := readRuns(dir)
	if err != nil {
		return nil, err
	}
	t := &table{Date: date, Note: "Each experiment used the seeds of its plan file. The minimum RTO of TCP is 200 ms.", Head: []string{"", "`ideal`: mean / max", "`daemon`: mean / max", "TCP: mean / max"}}
	for _, r := range labRows {
		cells := []string{r.title}
		for _, host := range []string{lab.Ideal.Name, "daemon"} {
			v := runs[runKey{r.plan, r.name, host}]
			if v == nil && host == lab.Ideal.Name {
				cells = append(cells, "–") // only one plan has such hosts
				continue
			}
			if v == nil {
				return nil, fmt.Errorf("%s has no %s of %s on %s", dir, r.name, r.plan, host)
			}
			cells = append(cells, meanMax(v))
		}
		rival := "–"
		if r.rival != "" {
			if v := runs[runKey{r.otherPlan, r.rival, lab.Ideal.Name}]; v != nil {
				rival = meanMax(v)
			}
		}
		t.Rows = append(t.Rows, append(cells, rival))
	}
	return t, nil
}

// meanMax returns the mean and the maximum completion time, in microseconds and as multiples of the
// ideal.
func meanMax(runs []*lab.Result) string {
	s := lab.Summarize(runs, runs[0].Group, runs[0].Skip)
	text := fmt.Sprintf("%.0f / %.0f (%.2f / %.2f x ideal)", s.Mean, s.Max, s.MeanRatio, s.MaxRatio)
	if s.Open > 0 {
		text += fmt.Sprintf(", %d open", s.Open)
	}
	return text
}

// runKey identifies a case of a plan, and the model of its hosts.
type runKey struct{ plan, name, host string }

// readRuns reads a folder of results, and returns them with the date of the newest result.
func readRuns(dir string) (runs map[runKey][]*lab.Result, date string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, "", err
	}
	runs = map[runKey][]*lab.Result{}
	for _, file := range files {
		if !slices.ContainsFunc(labRows, func(r labRow) bool {
			ok, _ := filepath.Match(r.plan+".*", filepath.Base(file))
			return ok
		}) {
			continue
		}
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, "", err
		}
		r := &lab.Result{}
		if err := json.Unmarshal(b, r); err != nil {
			return nil, "", fmt.Errorf("%s: %w", file, err)
		}
		d, err := dated(file)
		if err != nil {
			return nil, "", err
		}
		date = max(date, d)
		k := runKey{r.Plan, r.Case, r.Host}
		runs[k] = append(runs[k], r)
	}
	return runs, date, nil
}
