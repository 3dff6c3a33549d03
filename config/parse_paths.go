package config

import (
	"errors"
	"math"
	"slices"
	"strings"
)

func (d *draft) readPaths() Paths {
	s := d.paths
	return Paths{
		SourcePorts: int(s.number("source_ports", DefaultSourcePorts, 1, maxSourcePorts)),
		PortRange:   s.portRange("port_range"),
		Local:       s.locals("local"),
		Policy:      s.oneOf("policy", DefaultPolicy, Policies...),
		Steering:    s.steering(),
		PathMTU:     s.pathMTU("mtu"),
	}
}

// pathMTU parses an MTU. It is 0 for discovery, or an upper bound that still allows path
// validation.
func (s section) pathMTU(key string) int {
	n := s.number(key, 0, 0, math.MaxInt32)
	if n > maxPathMTU || n > 0 && n < minPathMTU {
		s.fail(key, "%d is out of bounds; want 0 or %d to %d bytes", n, minPathMTU, maxPathMTU)
	}
	return int(n)
}

// portRange parses a range "first-last".
func (s section) portRange(key string) [2]uint16 {
	text := s.text(key, "")
	if text == "" && (!s.has(key) || kind(s.vals[key]) != "a string") {
		return [2]uint16{} // any free ports; a wrong type has already been recorded
	}
	firstText, lastText, _ := strings.Cut(text, "-")
	first, err := parsePort(firstText)
	last, err2 := parsePort(lastText)
	switch {
	case err != nil || err2 != nil || first == 0:
		s.fail(key, `want "first-last" with ports from 1 to 65535, not %s`, quoted(text))
	case last < first:
		s.fail(key, "the range %s ends before it begins", quoted(text))
	}
	return [2]uint16{first, last}
}

func (s section) locals(key string) []Local {
	var locals []Local
	for _, it := range s.items(key, maxLocals) {
		l, err := parseLocal(it.text)
		if err == nil && slices.Contains(locals, l) {
			err = errors.New("is listed twice")
		}
		if err != nil {
			s.failAt(it.off, key, "%s: %v", quoted(it.text), err)
			continue
		}
		locals = append(locals, l)
	}
	return locals
}

// parseLocal parses an address or an interface name. No interface name contains a colon, and a
// name of digits and dots is probably a mistyped address.
func parseLocal(text string) (Local, error) {
	addr, err := parseAddr(text)
	if err == nil {
		return Local{Addr: addr}, nil
	}
	if strings.Contains(text, "/") {
		return Local{}, errors.New("want an address without a prefix length")
	}
	if strings.Contains(text, ":") || strings.Contains(text, ".") && strings.Trim(text, "0123456789.") == "" {
		return Local{}, err
	}
	if err := checkIfname(text); err != nil {
		return Local{}, errors.New("neither an address nor an interface name")
	}
	return Local{Interface: text}, nil
}
