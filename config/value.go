package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Each function below returns the value of one key as TOML, or "" for the default. The names of
// the functions follow the keys in schema.

func ofNothing(*Config, *Peer) string        { return "" }
func ofName(c *Config, _ *Peer) string       { return inTOML(c.Interface.Name) }
func ofPrivateKey(c *Config, _ *Peer) string { return ofSecret(c.Interface.PrivateKey) }
func ofAddress(c *Config, _ *Peer) string    { return listTOML(texts(c.Interface.Address)) }
func ofListenPort(c *Config, _ *Peer) string {
	return ofNumber(int64(c.Interface.ListenPort), DefaultListenPort)
}
func ofMTU(c *Config, _ *Peer) string     { return ofNumber(int64(c.Interface.MTU), DefaultMTU) }
func ofFwMark(c *Config, _ *Peer) string  { return ofNumber(int64(c.Interface.FwMark), 0) }
func ofWorkers(c *Config, _ *Peer) string { return ofNumber(int64(c.Interface.Workers), 0) }
func ofOffload(c *Config, _ *Peer) string {
	if !c.Interface.NoOffload {
		return ""
	}
	return "false"
}
func ofTable(c *Config, _ *Peer) string {
	if c.Interface.Table.Off {
		return `"off"`
	}
	return ofNumber(int64(c.Interface.Table.ID), 0)
}
func ofDNS(c *Config, _ *Peer) string      { return listTOML(c.Interface.DNS) }
func ofPreUp(c *Config, _ *Peer) string    { return commandsTOML(c.Interface.Hooks.PreUp) }
func ofPostUp(c *Config, _ *Peer) string   { return commandsTOML(c.Interface.Hooks.PostUp) }
func ofPreDown(c *Config, _ *Peer) string  { return commandsTOML(c.Interface.Hooks.PreDown) }
func ofPostDown(c *Config, _ *Peer) string { return commandsTOML(c.Interface.Hooks.PostDown) }

func ofSourcePorts(c *Config, _ *Peer) string {
	return ofNumber(int64(c.Paths.SourcePorts), DefaultSourcePorts)
}
func ofPortRange(c *Config, _ *Peer) string {
	r := c.Paths.PortRange
	if r[0] == 0 {
		return ""
	}
	return inTOML(fmt.Sprintf("%d-%d", r[0], r[1]))
}
func ofLocal(c *Config, _ *Peer) string   { return listTOML(texts(c.Paths.Local)) }
func ofPolicy(c *Config, _ *Peer) string  { return ofWord(c.Paths.Policy, DefaultPolicy) }
func ofFlowlet(c *Config, _ *Peer) string { return ofTime(c.Paths.Steering.FlowletTimeout) }
func ofWeights(c *Config, _ *Peer) string {
	var v []string
	for _, w := range c.Paths.Steering.Weights {
		v = append(v, strconv.Itoa(w))
	}
	if v == nil {
		return ""
	}
	return "[" + strings.Join(v, ", ") + "]"
}
func ofPrimary(c *Config, _ *Peer) string {
	if n := c.Paths.Steering.Primary; n > 0 {
		return inTOML(c.Paths.Local[n-1].String())
	}
	return ""
}
func ofFlowcell(c *Config, _ *Peer) string { return ofNumber(int64(c.Paths.Steering.Flowcell), 0) }
func ofAlpha(c *Config, _ *Peer) string {
	if a := c.Paths.Steering.DREAlpha; a != 0 {
		return strconv.FormatFloat(a, 'g', -1, 64)
	}
	return ""
}
func ofPeriod(c *Config, _ *Peer) string   { return ofTime(c.Paths.Steering.DREPeriod) }
func ofLinkMbit(c *Config, _ *Peer) string { return ofNumber(int64(c.Paths.Steering.LinkMbit), 0) }
func ofPathMTU(c *Config, _ *Peer) string  { return ofNumber(int64(c.Paths.PathMTU), 0) }
func ofCipher(c *Config, _ *Peer) string   { return ofWord(c.Transport.Cipher, DefaultCipher) }
func ofUDP(c *Config, _ *Peer) string      { return ofWord(c.Order.UDP, DefaultUDP) }
func ofDir(c *Config, _ *Peer) string      { return ofWord(c.PeersDir, "") }
func ofOwner(c *Config, _ *Peer) string    { return ofWord(c.PeersOwner, "") }
func ofAllow(c *Config, _ *Peer) string    { return listTOML(texts(c.PeersAllow)) }

func ofPeerName(_ *Config, p *Peer) string     { return ofWord(p.Name, "") }
func ofPublicKey(_ *Config, p *Peer) string    { return inTOML(p.PublicKey.String()) }
func ofPresharedKey(_ *Config, p *Peer) string { return ofSecret(p.PresharedKey) }
func ofEndpoints(_ *Config, p *Peer) string    { return listTOML(texts(p.Endpoints)) }
func ofAllowedIPs(_ *Config, p *Peer) string   { return listTOML(texts(p.AllowedIPs)) }
func ofPeerPolicy(c *Config, p *Peer) string   { return ofWord(p.Policy, c.Paths.Policy) }
func ofKeepalive(_ *Config, p *Peer) string {
	return ofNumber(int64(p.PersistentKeepalive/time.Second), 0)
}

func ofExpires(_ *Config, p *Peer) string {
	if p.Expires.IsZero() {
		return ""
	}
	return inTOML(p.Expires.Format(time.RFC3339Nano))
}

func ofNumber(n, absent int64) string {
	if n == absent {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func ofWord(word, absent string) string {
	if word == absent {
		return ""
	}
	return inTOML(word)
}

func ofTime(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return inTOML(d.String())
}

func ofSecret(s Secret) string {
	if s.IsZero() {
		return ""
	}
	return inTOML(s.Reveal())
}

func texts[T fmt.Stringer](list []T) (v []string) {
	for _, one := range list {
		v = append(v, one.String())
	}
	return v
}

// listTOML formats a list of strings, or returns "" for an empty list.
func listTOML(list []string) string {
	if len(list) == 0 {
		return ""
	}
	var v []string
	for _, one := range list {
		v = append(v, inTOML(one))
	}
	return "[" + strings.Join(v, ", ") + "]"
}

func commandsTOML(commands [][]string) string {
	if len(commands) == 0 {
		return ""
	}
	var v []string
	for _, argv := range commands {
		v = append(v, listTOML(argv))
	}
	return "[" + strings.Join(v, ", ") + "]"
}

// inTOML formats a text as a basic string (TOML 1.0, "String").
func inTOML(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
