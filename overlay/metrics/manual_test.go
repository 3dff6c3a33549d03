package metrics

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

var update = flag.Bool("update", false, "write the table of docs/monitoring.md anew")

const manual = "../../docs/monitoring.md"

// The manual has every metric, as it is.
func TestManualHasEveryMetric(t *testing.T) {
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	part := regexp.MustCompile(`(?s)(<!-- metrics: [^\n]*-->\n).*(<!-- end -->)`)
	want := part.ReplaceAllString(string(text), "${1}"+manualTable()+"${2}")
	if *update {
		if err := os.WriteFile(manual, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !part.Match(text) || string(text) != want {
		t.Error("the table of docs/monitoring.md is not what is exported; go test ./overlay/metrics -update writes it")
	}
}

func manualTable() string {
	var b strings.Builder
	b.WriteString("\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n")
	kinds := map[prometheus.ValueType]string{counter: "counter", gauge: "gauge"}
	peer := strings.Join(ofPeer, ", ")
	for _, m := range table {
		labels := strings.Replace(strings.Join(m.labels, ", "), peer, "peer's", 1)
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", m.name, kinds[m.kind], labels, m.help)
	}
	fmt.Fprintf(&b, "\nA peer's labels are %s.\n\n", peer)
	return b.String()
}

// What rules, recipes and dashboard speak of is exported.
func TestNamesInUseExist(t *testing.T) {
	known := map[string]bool{}
	for _, m := range table {
		known[m.name] = true
	}
	name := regexp.MustCompile(`\bsrdtun_[a-z_]+[a-z]`)
	for _, file := range []string{manual, "../../contrib/prometheus/alerts.yml", "../../contrib/grafana/srdtun.json"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
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
