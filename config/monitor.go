package config

import "net/netip"

// Metrics says where Prometheus finds the counters.
type Metrics struct {
	Listen  netip.AddrPort // TCP; the zero value is nowhere
	PerPath bool           // also one series for each path
}

// Dashboard says where a browser finds the page.
type Dashboard struct {
	Listen netip.AddrPort // TCP; the zero value is nowhere
}

func readMetrics(s section) Metrics {
	return Metrics{Listen: s.listen("listen"), PerPath: s.flag("per_path")}
}

func readDashboard(s section) Dashboard { return Dashboard{Listen: s.listen("listen")} }

// listen reads an address and a port to listen on. A name is not looked up: what it
// stands for may change, and with it who can connect.
func (s section) listen(key string) netip.AddrPort {
	text := s.text(key, "")
	if !s.has(key) || text == "" && kind(s.vals[key]) != "a string" {
		return netip.AddrPort{} // nowhere, or a wrong type that is noted
	}
	at, err := netip.ParseAddrPort(text)
	switch {
	case err != nil || at.Port() == 0:
		s.fail(key, `want an address and a port like "127.0.0.1:9586", not %s`, quoted(text))
	case at.Addr().IsMulticast() || at.Addr().Is4In6() || at.Addr().Zone() != "":
		s.fail(key, "nobody can listen on %s", quoted(text))
	default:
		return at
	}
	return netip.AddrPort{}
}

// flag reads true or false; a missing key is false.
func (s section) flag(key string) bool {
	v, ok := s.vals[key].(bool)
	if !ok && s.has(key) {
		s.fail(key, "want true or false, not %s", kind(s.vals[key]))
	}
	return v
}

// checkListens keeps metrics and dashboard apart: each has a listener of its own.
func (d *draft) checkListens(dashboard section) {
	if at := d.cfg.Dashboard.Listen; at.IsValid() && at == d.cfg.Metrics.Listen {
		dashboard.fail("listen", "%s is taken by metrics.listen", at)
	}
}

func ofMetricsListen(c *Config, _ *Peer) string   { return ofListen(c.Metrics.Listen) }
func ofDashboardListen(c *Config, _ *Peer) string { return ofListen(c.Dashboard.Listen) }

func ofListen(at netip.AddrPort) string {
	if !at.IsValid() {
		return ""
	}
	return inTOML(at.String())
}

func ofPerPath(c *Config, _ *Peer) string {
	if !c.Metrics.PerPath {
		return ""
	}
	return "true"
}
