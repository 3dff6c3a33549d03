package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The limits of DNS names are from RFC 1035, section 2.3.4.
const (
	maxHostBytes  = 253 // length of a name's text if the name has 255 octets on the wire
	maxLabelBytes = 63
)

// errLinkLocal is the error for a link-local address. It is valid on one link only, but all uplinks
// use the same endpoints.
var errLinkLocal = errors.New("a link-local address cannot be an endpoint; give one that routes lead to")

// Endpoint is a UDP address of a peer: a host and a port.
type Endpoint struct {
	Host string // an IP address, without brackets, or a DNS name
	Port uint16 // never 0
}

// String returns host:port, with brackets around an IPv6 address.
func (e Endpoint) String() string {
	if strings.Contains(e.Host, ":") {
		return "[" + e.Host + "]:" + strconv.Itoa(int(e.Port))
	}
	return e.Host + ":" + strconv.Itoa(int(e.Port))
}

// Addr returns the address and port of an endpoint that needs no name lookup.
func (e Endpoint) Addr() (netip.AddrPort, bool) {
	addr, err := netip.ParseAddr(e.Host)
	return netip.AddrPortFrom(addr, e.Port), err == nil
}

// parseEndpoint parses "host:port". An IPv6 address needs brackets, because its last group could
// otherwise be a port (RFC 3986, section 3.2.2).
func parseEndpoint(s string) (Endpoint, error) {
	host, portText, err := splitEndpoint(s)
	if err != nil {
		return Endpoint{}, err
	}
	port, err := parsePort(portText)
	if err != nil || port == 0 {
		return Endpoint{}, fmt.Errorf("%s: the port must be a number from 1 to 65535", quoted(s))
	}
	if strings.HasPrefix(s, "[") && !strings.Contains(host, ":") {
		return Endpoint{}, fmt.Errorf("%s: only an IPv6 address stands in brackets", quoted(s))
	}
	host, err = checkHost(host)
	if err != nil {
		return Endpoint{}, fmt.Errorf("%s: %w", quoted(s), err)
	}
	return Endpoint{Host: host, Port: port}, nil
}

func splitEndpoint(s string) (host, port string, err error) {
	if _, rest, is := strings.Cut(s, "://"); is {
		return "", "", fmt.Errorf("%s: an endpoint has no scheme: %s", quoted(s), quoted(rest))
	}
	if rest, ok := strings.CutPrefix(s, "["); ok {
		host, port, ok = strings.Cut(rest, "]:")
		if !ok {
			return "", "", fmt.Errorf("%s: want [address]:port", quoted(s))
		}
		return host, port, nil
	}
	cut := strings.LastIndexByte(s, ':')
	if cut < 0 {
		return "", "", fmt.Errorf("%s: the port is missing; want host:port", quoted(s))
	}
	host, port = s[:cut], s[cut+1:]
	if !strings.Contains(host, ":") {
		return host, port, nil
	}
	if _, err := netip.ParseAddr(host); err == nil {
		return "", "", fmt.Errorf("%s: an IPv6 address needs brackets: [%s]:%s", quoted(s), host, clipped(port))
	}
	return "", "", fmt.Errorf("%s: an IPv6 address needs brackets: [address]:port", quoted(s))
}

// parsePort accepts only decimal digits. strconv would also accept a sign.
func parsePort(s string) (uint16, error) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, errors.New("not a port")
	}
	port, err := strconv.ParseUint(s, 10, 16)
	return uint16(port), err
}

// checkHost accepts an address or a DNS name. For an address, checkHost returns the usual
// spelling.
func checkHost(host string) (string, error) {
	name := strings.TrimSuffix(host, ".")
	if strings.Contains(host, ":") || allNumeric(name[strings.LastIndexByte(name, '.')+1:]) {
		addr, err := parseAddr(host)
		if err != nil {
			return "", err
		}
		if addr.Is6() && addr.IsLinkLocalUnicast() {
			return "", errLinkLocal
		}
		return addr.String(), nil
	}
	if len(host) > maxHostBytes {
		return "", errors.New("the host name is longer than 253 bytes")
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return "", errors.New("the host is neither an IP address nor a DNS name")
		}
	}
	return strings.Clone(host), nil // a part of the file would keep the whole file
}

// allNumeric reports whether a label consists of digits, so that it belongs to an address. A
// top-level domain is never a number (RFC 3696, section 2), so 10.0.0.300 is a mistyped address.
func allNumeric(label string) bool {
	return label != "" && strings.Trim(label, "0123456789") == ""
}

func isLabel(label string) bool {
	if label == "" || len(label) > maxLabelBytes || label[0] == '-' || label[len(label)-1] == '-' {
		return false
	}
	for i := range len(label) {
		c := label[i]
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		if !letter && (c < '0' || c > '9') && c != '-' && c != '_' {
			return false
		}
	}
	return true
}
