package config

import "testing"

func TestListeners(t *testing.T) {
	cfg, err := Parse("s.toml", []byte(withKeys(mainPart+"[metrics]\nlisten = '127.0.0.1:9586'\nper_path = true\n[dashboard]\nlisten = '[::1]:80'\n")))
	must(t, err)
	if m, d := cfg.Metrics, cfg.Dashboard; m.Listen.String() != "127.0.0.1:9586" || !m.PerPath || d.Listen.String() != "[::1]:80" {
		t.Errorf("got %+v, %+v", m, d)
	}
}

func TestListenersAreOffByDefault(t *testing.T) {
	cfg, err := Parse("s.toml", []byte(withKeys(mainPart)))
	must(t, err)
	if !cfg.Metrics.Listen.IsZero() || cfg.Metrics.PerPath || !cfg.Dashboard.Listen.IsZero() {
		t.Errorf("got %+v, %+v", cfg.Metrics, cfg.Dashboard)
	}
}

func TestListenersOnUnixSockets(t *testing.T) {
	cfg, err := Parse("s.toml", []byte(withKeys(mainPart+"[metrics]\nlisten = 'unix:/run/srdtun/lab.metrics'\n")))
	must(t, err)
	if l := cfg.Metrics.Listen; l.Unix != "/run/srdtun/lab.metrics" || l.TCP.IsValid() || l.String() != "unix:/run/srdtun/lab.metrics" {
		t.Errorf("got %+v", l)
	}
	again, err := Parse("s.toml", Format(cfg))
	if err != nil || again.Metrics != cfg.Metrics {
		t.Errorf("written and read again: %+v, %v", again, err)
	}
}
