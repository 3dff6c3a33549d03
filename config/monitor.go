package config

import (
	"net/netip"
	"path/filepath"
	"strings"
)

// Listen is an address to listen on: a TCP port or a Unix socket. The zero value of Listen means
// no address.
type Listen struct {
	TCP  netip.AddrPort
	Unix string // an absolute path
}

// inUnix is the prefix of a Unix socket's path in the file.
const inUnix = "unix:"

// unixMost is the maximum length of a Unix socket's path, in bytes. The limit of unix(7) is 107
// bytes. A new socket's temporary path is four bytes longer than the final one.
const unixMost = 103

// IsZero reports whether l contains no address.
func (l Listen) IsZero() bool { return l == Listen{} }

// String returns the address in the form of the file.
func (l Listen) String() string {
	switch {
	case l.Unix != "":
		return inUnix + l.Unix
	case l.TCP.IsValid():
		return l.TCP.String()
	}
	return ""
}

// Metrics holds the settings of the Prometheus endpoint.
type Metrics struct {
	Listen  Listen
	PerPath bool // export series for each path, too
}

// Dashboard holds the settings of the web page.
type Dashboard struct {
	Listen Listen
}

func readMetrics(s section) Metrics {
	return Metrics{Listen: s.listen("listen"), PerPath: s.flag("per_path")}
}

func readDashboard(s section) Dashboard { return Dashboard{Listen: s.listen("listen")} }

// listen parses an address to listen on. It accepts no host name, because if the name's address
// changed, the listener could become reachable for other hosts.
func (s section) listen(key string) Listen {
	text := s.text(key, "")
	if !s.has(key) || text == "" && kind(s.vals[key]) != "a string" {
		return Listen{} // there is no address, or its wrong type has been recorded
	}
	if path, ok := strings.CutPrefix(text, inUnix); ok {
		return s.listenUnix(key, path)
	}
	at, err := netip.ParseAddrPort(text)
	_, rest, scheme := strings.Cut(text, "://")
	switch {
	case scheme:
		s.fail(key, `an address to listen on has no scheme: %s`, quoted(rest))
	case err != nil || at.Port() == 0:
		s.fail(key, `want an address and a port like "127.0.0.1:9586", or "unix:" and a path, not %s`, quoted(text))
	case at.Addr().IsMulticast() || at.Addr().Is4In6() || at.Addr().Zone() != "":
		s.fail(key, "nobody can listen on %s", quoted(text))
	default:
		return Listen{TCP: at}
	}
	return Listen{}
}

// listenUnix parses and checks the path of a Unix socket.
func (s section) listenUnix(key, path string) Listen {
	switch {
	case !filepath.IsAbs(path) || filepath.Clean(path) != path || path == "/" || strings.ContainsRune(path, 0):
		s.fail(key, `want a whole path like "unix:/run/srdtun/lab/metrics", not %s`, quoted(inUnix+path))
	case len(path) > unixMost:
		s.fail(key, "the path of a unix socket has at most %d bytes, not %d", unixMost, len(path))
	default:
		return Listen{Unix: path}
	}
	return Listen{}
}

// flag parses a boolean; a missing key means false.
func (s section) flag(key string) bool {
	v, ok := s.vals[key].(bool)
	switch text, isText := s.vals[key].(string); {
	case isText:
		s.fail(key, "want true or false, without quotes, not %s", quoted(text))
	case !ok && s.has(key):
		s.fail(key, "want true or false, not %s", kind(s.vals[key]))
	}
	return v
}

// checkListens refuses the same address for metrics and dashboard, because each opens its own
// listener.
func (d *draft) checkListens(dashboard section) {
	if at := d.cfg.Dashboard.Listen; !at.IsZero() && at == d.cfg.Metrics.Listen {
		dashboard.fail("listen", "%s is taken by metrics.listen", at)
	}
}

func ofMetricsListen(c *Config, _ *Peer) string   { return ofListen(c.Metrics.Listen) }
func ofDashboardListen(c *Config, _ *Peer) string { return ofListen(c.Dashboard.Listen) }

func ofListen(at Listen) string {
	if at.IsZero() {
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
