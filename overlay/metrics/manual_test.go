package metrics

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of docs/monitoring.md anew")

const manual = "../../docs/monitoring.md"

// docs/monitoring.md has the same description of every metric as the table in the code.
func TestManualHasEveryMetric(t *testing.T) {
	text, err := os.ReadFile(manual)
	must(t, err)
	part := regexp.MustCompile(`(?s)(<!-- metrics: [^\n]*-->\n).*?(<!-- end -->)`)
	want := part.ReplaceAllString(string(text), "${1}"+manualTable()+"${2}")
	if *update {
		must(t, os.WriteFile(manual, []byte(want), 0o644))
		return
	}
	if !part.Match(text) || string(text) != want {
		t.Error("the table of docs/monitoring.md is not what is exported; go test ./overlay/metrics -update writes it")
	}
}

// manualTable returns the manual's tables of the metrics of the interface, of a peer and of a path.
func manualTable() string {
	var b strings.Builder
	b.WriteString("\nA metric whose name ends in `_total` is a counter, and any other metric is a gauge. The metrics `go_…` and `process_…` of Prometheus's Go client are there too.\n")
	groups := []struct {
		of     string
		labels []string
	}{{"interface", ofPeer[:1]}, {"peer", ofPeer}, {"path (`per_path`)", ofPath}}
	for i, g := range groups {
		fmt.Fprintf(&b, "\n| %s: `%s` | |\n| --- | --- |\n", g.of, strings.Join(g.labels, ", "))
		for _, m := range table {
			is := func(j int) bool {
				return strings.HasPrefix(strings.Join(m.labels, " "), strings.Join(groups[j].labels, " "))
			}
			if !is(i) || i+1 < len(groups) && is(i+1) {
				continue
			}
			more := strings.Join(m.labels[len(g.labels):], ", ")
			if more != "" {
				more = "{" + more + "}"
			}
			fmt.Fprintf(&b, "| `%s%s` | %s |\n", m.name, more, m.help)
		}
	}
	b.WriteString("\n")
	return b.String()
}

// The manual says that the names of counters end in "_total".
func TestCountersEndInTotal(t *testing.T) {
	for _, m := range table {
		if (m.kind == counter) != strings.HasSuffix(m.name, "_total") {
			t.Errorf("%s is a counter: %v", m.name, m.kind == counter)
		}
	}
}

// The alert rules, the recipes and the dashboard use only exported metrics.
func TestNamesInUseExist(t *testing.T) {
	known := map[string]bool{}
	for _, m := range table {
		known[m.name] = true
	}
	name := regexp.MustCompile(`\bsrdtun_[a-z_]+[a-z]`)
	for _, file := range []string{manual, "../../contrib/prometheus/alerts.yml", "../../contrib/grafana/srdtun.json"} {
		text, err := os.ReadFile(file)
		must(t, err)
		found := name.FindAllString(string(text), -1)
		if len(found) < 10 {
			t.Errorf("%s has %d names", file, len(found))
		}
		for _, n := range found {
			if !known[n] && n != "srdtun_ena_srd" {
				t.Errorf("%s speaks of %s", file, n)
			}
		}
	}
}
