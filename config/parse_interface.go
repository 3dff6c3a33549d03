package config

import (
	"math"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
)

func (d *draft) readInterface() Interface {
	s := d.iface
	return Interface{
		Name:       d.readName(),
		PrivateKey: s.secret("private_key"),
		Address:    s.addresses("address"),
		ListenPort: uint16(s.number("listen_port", DefaultListenPort, 0, math.MaxUint16)),
		MTU:        int(s.number("mtu", DefaultMTU, minMTU, maxMTU)),
		FwMark:     uint32(s.numberOr("fwmark", 0, math.MaxUint32, "off")),
		Table:      s.table("table"),
		Workers:    int(s.number("workers", 0, 0, maxWorkers)),
		NoOffload:  s.has("offload") && !s.flag("offload"),
		DNS:        s.dns("dns"),
		Hooks: Hooks{
			PreUp: s.commands("pre_up"), PostUp: s.commands("post_up"),
			PreDown: s.commands("pre_down"), PostDown: s.commands("post_down"),
		},
	}
}

// readName parses the interface's name. By default, the interface has the file's name:
// /etc/srdtun/lab.toml gives lab.
func (d *draft) readName() string {
	s := d.iface
	if s.has("name") {
		name := s.text("name", "")
		if err := checkOwnName(name); err != nil && kind(s.vals["name"]) == "a string" {
			s.fail("name", "%v", err)
		}
		return name
	}
	base := filepath.Base(d.cfg.File)
	name := strings.TrimSuffix(base, filepath.Ext(base))
	if err := checkOwnName(name); err != nil {
		s.fail("name", "is missing, and the file name gives none: %v", err)
	}
	return name
}

// addresses parses the device's addresses, which must be addresses of hosts.
func (s section) addresses(key string) []netip.Prefix {
	var prefixes []netip.Prefix
	for _, it := range s.items(key, maxAddresses) {
		prefix, err := parsePrefix(it.text)
		if err != nil {
			s.failAt(it.off, key, "%v", err)
			continue
		}
		if _, err := parseAddr(prefix.Addr().String()); err != nil {
			s.failAt(it.off, key, "%s: %v", quoted(it.text), err)
			continue
		}
		prefixes = append(prefixes, prefix)
	}
	return prefixes
}

// numberOr parses a number from 0 to hi, or the word in `zero`, which means 0. The number may be in
// quotes, and then also hexadecimal, because wg(8) prints marks in hexadecimal.
func (s section) numberOr(key string, absent, hi int64, zero string) int64 {
	text, ok := s.vals[key].(string)
	if !ok {
		return s.number(key, absent, 0, hi)
	}
	if text == zero {
		return 0
	}
	digits, base := text, 10
	if hex, ok := strings.CutPrefix(strings.ToLower(text), "0x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 63)
	if err != nil || int64(n) > hi {
		s.fail(key, "want %s or %q, not %s", s.bounds(key, 0, hi), zero, quoted(text))
		return absent
	}
	return int64(n)
}

func (s section) table(key string) Table {
	switch v := s.vals[key].(type) {
	case nil:
		return Table{}
	case string:
		if v == "auto" || v == "off" {
			return Table{Off: v == "off"}
		}
	case int64:
		if v >= 1 && v <= math.MaxUint32 {
			return Table{ID: uint32(v)}
		}
	}
	s.fail(key, `want "auto", "off" or a number from 1 to %d`, uint32(math.MaxUint32))
	return Table{}
}
