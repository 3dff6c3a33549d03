package config

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// errMapped is the error for an IPv4-mapped address. The kernel would make an IPv6 route from it,
// which no packet matches.
var errMapped = errors.New("an IPv4 address in IPv6 form; write it as IPv4")

// parseAddr parses the address of a single host.
func parseAddr(s string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(s)
	switch {
	case err != nil:
		return netip.Addr{}, errors.New("not an IP address")
	case addr.Is4In6():
		return netip.Addr{}, errMapped
	case addr.IsUnspecified():
		return netip.Addr{}, errors.New("the unspecified address cannot be the address of a host")
	case addr.IsMulticast():
		return netip.Addr{}, errors.New("a multicast address cannot be the address of a host")
	case addr.Zone() != "" && checkIfname(addr.Zone()) != nil:
		return netip.Addr{}, errors.New("the zone behind % is not an interface name")
	}
	return addr, nil
}

// parsePrefix parses "address/length", as wg(8) does. An address without a length gets the full
// length. parsePrefix keeps host bits.
func parsePrefix(s string) (netip.Prefix, error) {
	prefix, err := splitPrefix(s)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%s: %w", quoted(s), err)
	}
	if prefix.Addr().Is4In6() {
		return netip.Prefix{}, fmt.Errorf("%s: %w", quoted(s), errMapped)
	}
	return prefix, nil
}

func splitPrefix(s string) (netip.Prefix, error) {
	text, lengthText, hasLength := strings.Cut(s, "/")
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Prefix{}, errors.New("not an IP prefix; want address/length")
	}
	if !hasLength {
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	length, err := strconv.Atoi(lengthText)
	if err != nil || lengthText != strconv.Itoa(length) || length < 0 || length > addr.BitLen() {
		return netip.Prefix{}, fmt.Errorf("the prefix length must be a number from 0 to %d", addr.BitLen())
	}
	return netip.PrefixFrom(addr, length), nil
}
