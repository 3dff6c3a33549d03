package config

import (
	"errors"
	"strings"
)

// maxIfnameBytes is IFNAMSIZ of linux/if.h less the closing zero.
const maxIfnameBytes = 15

// checkIfname applies the rules of dev_valid_name in the kernel's net/core/dev.c. A name
// is not empty, has at most 15 bytes, is not "." or "..", and has no slash, colon or
// white space. The kernel sees bytes, and counts 0xa0 as white space. Three more rules
// are added here. Control characters are refused, because no terminal shows them, and so
// is '%', because the kernel replaces it by a number. So are "all" and "default", which
// name entries of their own among the kernel's sysctls.
func checkIfname(name string) error {
	switch {
	case name == "":
		return errors.New("an interface name must not be empty")
	case len(name) > maxIfnameBytes:
		return errors.New("an interface name has at most 15 bytes, " + quoted(name) + " has more")
	case name == "." || name == ".." || name == "all" || name == "default":
		return errors.New(quoted(name) + " cannot name an interface")
	}
	for i := range len(name) {
		if c := name[i]; c <= ' ' || c == 0x7f || c == 0xa0 || strings.IndexByte("/:%", c) >= 0 {
			return errors.New(quoted(name) + " has a character that no interface name can have")
		}
	}
	return nil
}

// checkOwnName is checkIfname for the tunnel's own device. It also refuses "lo", which
// exists in every network namespace, and "interfaces", a word of `srdtun show`. That
// command's other word, "all", is refused by checkIfname.
func checkOwnName(name string) error {
	if name == "lo" {
		return errors.New(quoted(name) + " is the loopback device, and cannot name the tunnel")
	}
	if name == "interfaces" {
		return errors.New(quoted(name) + ` is a word of "srdtun show", and cannot name the tunnel`)
	}
	return checkIfname(name)
}

// CheckName returns the reason why no tunnel can have a name, or nil.
func CheckName(name string) error { return checkOwnName(name) }
