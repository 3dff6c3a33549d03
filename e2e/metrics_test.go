package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

const (
	metricsAt    = "127.0.0.1:9586"
	prometheusAt = "127.0.0.1:9090"
	// prometheusWait bounds the start of Prometheus and a few scrapes, one each second.
	prometheusWait = 30 * time.Second
)

// shipped returns the path of a file in contrib.
func shipped(t *testing.T, name string) string {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "contrib", name))
	must(t, err)
	return file
}

// promtool runs the program promtool on files of contrib or on a text.
func promtool(t *testing.T, stdin string, args ...string) {
	t.Helper()
	c := exec.Command("promtool", args...)
	c.Stdin = strings.NewReader(stdin)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", args, err, out)
	}
}

func TestAlertRules(t *testing.T) {
	side(t)
	promtool(t, "", "check", "rules", shipped(t, "prometheus/alerts.yml"))
	promtool(t, "", "test", "rules", shipped(t, "prometheus/alerts_test.yml"))
}

// TestPrometheusSeesAPathDie lets Debian's Prometheus scrape a daemon that has dropped its
// privileges. Prometheus also loads the rules and runs every query of the Grafana dashboard.
func TestPrometheusSeesAPathDie(t *testing.T) {
	side(t)
	f := network(t, fabric.Spec{})
	p := pair(t, f, tunnel.Config{SourcePorts: 12, Extra: "\n[metrics]\nlisten = \"" + metricsAt + "\"\nper_path = true\n"})
	startPrometheus(t, p.A.Host)
	load, err := meter.Start(meter.Flow{Client: f.A(1), Server: f.B(1), To: tunnel.Inner4(2), For: 2 * time.Minute})
	must(t, err)
	defer load.Stop()
	// A rate needs two scrapes under load.
	awaitQuery(t, p.A.Host, `rate(srdtun_device_read_bytes_total[10s]) * 8 > 1e6`)
	promtool(t, fetch(t, p.A.Host, "http://"+metricsAt+"/metrics"), "check", "metrics")
	awaitQuery(t, p.A.Host, `srdtun_paths{state="active"} > 0 unless on (public_key) srdtun_paths{state="down"} > 0`)
	must(t, f.Break(2))
	awaitQuery(t, p.A.Host, `ALERTS{alertname="SrdtunPathsDown", alertstate="firing", friendly_name="b"}`)
	awaitQuery(t, p.A.Host, `srdtun_path_active == 0`)
	awaitQuery(t, p.A.Host, `process_resident_memory_bytes{job="srdtun"} > 0`)
	for _, expr := range append(grafanaQueries(t), recipes(t)...) {
		// Queries for faults may have an empty result.
		if got := query(t, p.A.Host, expr); len(got) == 0 && !regexp.MustCompile(`> \d+$`).MatchString(expr) {
			t.Errorf("%s gives nothing", expr)
		}
	}
}

// recipes returns the queries of docs/monitoring.md, with time ranges that fit the length of the
// test.
func recipes(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile("../docs/monitoring.md")
	must(t, err)
	_, part, found := strings.Cut(string(text), "### Recipes\n")
	for _, m := range regexp.MustCompile("(?m)^\\|.*\\| `(.*)` \\|$").FindAllStringSubmatch(part, -1) {
		all = append(all, regexp.MustCompile(`\[\d+m\]`).ReplaceAllString(m[1], "[10s]"))
	}
	if !found || len(all) < 8 {
		t.Fatalf("%d recipes", len(all))
	}
	return all
}

// startPrometheus runs Prometheus on the host with the rules of contrib, which wait for 2 s instead
// of a minute in this test.
func startPrometheus(t *testing.T, h *fabric.Host) {
	t.Helper()
	dir := t.TempDir()
	rules, err := os.ReadFile(shipped(t, "prometheus/alerts.yml"))
	must(t, err)
	config := fmt.Sprintf("global: {scrape_interval: 1s, evaluation_interval: 1s}\nrule_files: [rules.yml]\n"+
		"scrape_configs:\n  - job_name: srdtun\n    static_configs: [{targets: [%q]}]\n", metricsAt)
	for name, text := range map[string]string{
		"prometheus.yml": config, "rules.yml": regexp.MustCompile(`for: \w+`).ReplaceAllString(string(rules), "for: 2s"),
	} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	process, err := h.Start("prometheus", "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+prometheusAt)
	must(t, err)
	t.Cleanup(func() {
		process.Kill()
		if t.Failed() {
			t.Log(process.Log.String())
		}
	})
	awaitQuery(t, h, `up{job="srdtun"} == 1`)
}

// clientOn returns an HTTP client on a host.
func clientOn(h *fabric.Host) *http.Client {
	return &http.Client{Timeout: prometheusWait, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(_ context.Context, network, at string) (net.Conn, error) {
			return h.Dial(network, at, prometheusWait)
		},
	}}
}

func fetch(t *testing.T, h *fabric.Host, url string) string {
	t.Helper()
	r, err := clientOn(h).Get(url)
	must(t, err)
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", url, r.Status, err)
	}
	return string(text)
}

// query runs a query of Prometheus, and returns the result. A refused query fails the test. While
// Prometheus does not answer yet, the result is empty.
func query(t *testing.T, h *fabric.Host, expr string) []json.RawMessage {
	t.Helper()
	r, err := clientOn(h).Get("http://" + prometheusAt + "/api/v1/query?query=" + url.QueryEscape(expr))
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	var answer struct {
		Status, Error string
		Data          struct{ Result []json.RawMessage }
	}
	if json.NewDecoder(r.Body).Decode(&answer) != nil {
		return nil // it is starting
	}
	if answer.Status != "success" {
		t.Errorf("%s: %s", expr, answer.Error)
	}
	return answer.Data.Result
}

func awaitQuery(t *testing.T, h *fabric.Host, expr string) {
	t.Helper()
	for end := time.Now().Add(prometheusWait); len(query(t, h, expr)) == 0; time.Sleep(200 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("nothing for %s after %v", expr, prometheusWait)
		}
	}
}

// grafanaQueries returns the queries of the dashboard, in which it replaces the variables as
// Grafana does.
func grafanaQueries(t *testing.T) (all []string) {
	t.Helper()
	text, err := os.ReadFile(shipped(t, "grafana/srdtun.json"))
	must(t, err)
	type panel struct {
		Targets []struct{ Expr string }
		Panels  []panel
	}
	var board panel
	must(t, json.Unmarshal(text, &board))
	fill := strings.NewReplacer("$instance", ".*", "$interface", ".*", "$peer", ".*", "$__rate_interval", "10s")
	var walk func(p panel)
	walk = func(p panel) {
		for _, target := range p.Targets {
			all = append(all, fill.Replace(target.Expr))
		}
		for _, inner := range p.Panels {
			walk(inner)
		}
	}
	walk(board)
	if len(all) < 20 {
		t.Fatalf("%d queries are not the dashboard", len(all))
	}
	return all
}
