package tunnel

import (
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Config holds the configuration keys that tests set. The file leaves out zero values, so that
// the daemon uses its defaults.
type Config struct {
	// Tag distinguishes the interfaces of a Pair from concurrent ones. The tag has up to three
	// letters, and is not part of the file.
	Tag         string
	PrivateKey  string
	Address     []netip.Prefix
	ListenPort  int // 0 means DefaultPort
	MTU         int
	SourcePorts int
	Local       []netip.Addr
	// Interfaces are the interfaces in paths.local, in front of the addresses in Local.
	Interfaces []string
	// FlowletTimeout is for policies with flowlets; 0 means the policy's default.
	FlowletTimeout time.Duration
	Cipher         string
	Peers          []Peer
	// Extra is text that is appended to the [interface] section.
	Extra string
	// Profiles makes the daemon serve profiles on the socket Node.ProfileSocket. The value of
	// Profiles is not part of the file.
	Profiles bool
}

// Peer is a [[peer]] section of the configuration.
type Peer struct {
	Name         string
	PublicKey    string
	PresharedKey string
	Endpoints    []netip.AddrPort
	AllowedIPs   []netip.Prefix
	Keepalive    time.Duration // whole seconds; 0: none
}

// TOML returns the text of the configuration file.
func (c Config) TOML() []byte {
	var b strings.Builder
	set := func(key string, value any) { fmt.Fprintf(&b, "%s = %v\n", key, value) }
	b.WriteString("[interface]\n")
	set("private_key", quote(c.PrivateKey))
	set("address", list(c.Address))
	if c.ListenPort == 0 {
		c.ListenPort = DefaultPort
	}
	set("listen_port", c.ListenPort)
	if c.MTU != 0 {
		set("mtu", c.MTU)
	}
	b.WriteString(c.Extra)
	if c.SourcePorts != 0 || len(c.Local)+len(c.Interfaces) > 0 || c.FlowletTimeout != 0 {
		b.WriteString("\n[paths]\n")
		if c.SourcePorts != 0 {
			set("source_ports", c.SourcePorts)
		}
		if len(c.Local)+len(c.Interfaces) > 0 {
			var from []fmt.Stringer
			for _, i := range c.Interfaces {
				from = append(from, device(i))
			}
			for _, a := range c.Local {
				from = append(from, a)
			}
			set("local", list(from))
		}
		if c.FlowletTimeout != 0 {
			set("flowlet_timeout", quote(c.FlowletTimeout.String()))
		}
	}
	if c.Cipher != "" {
		b.WriteString("\n[transport]\n")
		set("cipher", quote(c.Cipher))
	}
	for _, p := range c.Peers {
		b.WriteString("\n[[peer]]\n")
		set("name", quote(p.Name))
		set("public_key", quote(p.PublicKey))
		if p.PresharedKey != "" {
			set("preshared_key", quote(p.PresharedKey))
		}
		if len(p.Endpoints) > 0 {
			set("endpoints", list(p.Endpoints))
		}
		set("allowed_ips", list(p.AllowedIPs))
		if p.Keepalive != 0 {
			set("persistent_keepalive", int(p.Keepalive.Seconds()))
		}
	}
	return []byte(b.String())
}

// device is the name of a network interface.
type device string

func (d device) String() string { return string(d) }

func quote(s string) string { return fmt.Sprintf("%q", s) }

func list[T fmt.Stringer](items []T) string {
	var quoted []string
	for _, i := range items {
		quoted = append(quoted, quote(i.String()))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
