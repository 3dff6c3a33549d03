package daemon

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
)

// watched returns the tests' common configuration with both listeners.
func watched(t *testing.T) *config.Config {
	t.Helper()
	return parse(t, "[paths]", "[metrics]\nlisten = \"127.0.0.1:9586\"\n[dashboard]\nlisten = \"127.0.0.1:9587\"\n[paths]")
}

// fetch returns the response to a client whose Host header is `host`.
func fetch(t *testing.T, url, host string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	must(t, err)
	r.Host, r.Close = host, true
	answer, err := http.DefaultClient.Do(r)
	must(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, string(text)
}

func TestMonitor(t *testing.T) {
	run := runDir(t)
	before := state(t, run)
	r := up(t, watched(t))
	status, text := fetch(t, "http://127.0.0.1:9586/metrics", "127.0.0.1:9586")
	for _, want := range []string{
		`srdtun_session{friendly_name="near",interface="srdd0",public_key="` + key(t, 2) + `"} 0`,
		`srdtun_drops_total{interface="srdd0",reason="no_route"} 0`,
		`srdtun_drops_total{interface="srdd0",reason="source_not_allowed"} 0`,
		`srdtun_ena_srd_resource_utilization{interface="srdd0"} 0`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%d, without %s:\n%s", status, want, text)
		}
	}
	for _, never := range []string{"ok", "none", "device_read_ok"} {
		if strings.Contains(text, `reason="`+never+`"`) {
			t.Errorf("%s is no reason to drop", never)
		}
	}
	if status, page := fetch(t, "http://127.0.0.1:9587/", "localhost:9587"); status != http.StatusOK || !strings.Contains(page, "<!doctype html>") {
		t.Errorf("the page: %d, %s", status, page)
	}
	for _, url := range []string{"http://127.0.0.1:9586/metrics", "http://127.0.0.1:9587/"} {
		if status, _ := fetch(t, url, "rebound.example"); status != http.StatusMisdirectedRequest {
			t.Errorf("%s by the name of somebody else: %d", url, status)
		}
	}
	if text := text + page(t); strings.Contains(text, "PrivateKey") || strings.Contains(text, "preshared") {
		t.Error("it speaks of secrets")
	}
	r.cancel()
	r.wait()
	sameState(t, run, before)
}

// page returns the status that the dashboard's page gets.
func page(t *testing.T) string {
	t.Helper()
	r, err := http.Get("http://127.0.0.1:9587/stream")
	must(t, err)
	defer r.Body.Close()
	b := make([]byte, 1<<10)
	n, err := io.ReadAtLeast(r.Body, b, 100)
	must(t, err)
	return string(b[:n])
}

// Listeners may use the tunnel's own addresses. There Prometheus may use a host name.
func TestMonitorInsideTheTunnel(t *testing.T) {
	runDir(t)
	c := parse(t, "[paths]", "[metrics]\nlisten = \"[fd80::1]:9586\"\n[dashboard]\nlisten = \"10.80.0.1:9587\"\n[paths]")
	r := up(t, c)
	if status, text := fetch(t, "http://[fd80::1]:9586/metrics", "hub.example:9586"); status != http.StatusOK || !strings.Contains(text, "\nsrdtun_info{") {
		t.Errorf("metrics: %d, %s", status, text)
	}
	if status, _ := fetch(t, "http://10.80.0.1:9587/", "hub.example:9587"); status != http.StatusMisdirectedRequest {
		t.Errorf("the page by a name: %d", status)
	}
	if status, _ := fetch(t, "http://10.80.0.1:9587/", "10.80.0.1:9587"); status != http.StatusOK {
		t.Errorf("the page by its address: %d", status)
	}
	r.cancel()
	r.wait()
}

// The daemon opens no listener unless it is configured.
func TestNoMonitorByDefault(t *testing.T) {
	runDir(t)
	r := up(t, parse(t))
	for _, port := range []string{"9586", "9587"} {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			t.Errorf("somebody listens on %s", port)
		}
	}
	r.cancel()
	r.wait()
}

// If a port is already in use, the start fails with one line that names the key.
func TestMonitorPortTaken(t *testing.T) {
	run := runDir(t)
	l, err := net.Listen("tcp", "127.0.0.1:9587")
	must(t, err)
	defer l.Close()
	before := state(t, run)
	err = Run(context.Background(), Options{Config: watched(t), Log: func(events.Event) {}, Ready: func() { t.Error("ready") }})
	if err == nil || !strings.HasPrefix(err.Error(), "srdd0.toml: dashboard.listen: nobody can listen there (") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	sameState(t, run, before)
}
