package config

import (
	"errors"
	"strings"
)

// maxIfnameBytes is IFNAMSIZ of linux/if.h less the closing zero.
const maxIfnameBytes = 15

// checkIfname applies the rules of dev_valid_name in the kernel's net/core/dev.c:
// not empty, 15 bytes at most, not "." or "..", and no slash, colon or white
// space. The kernel sees bytes, and counts 0xa0 as white space. Three rules are
// added: control characters, which no terminal shows; '%', which asks the kernel
// to number the device; and "all" and "default", for which the kernel has no
// sysctl entries to make.
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

// checkOwnName is checkIfname for the tunnel's own device, whose name must not be a
// word that stands for something else in `srdtun show`, nor that of the one device that
// is there in every network namespace; "all" is none anyway.
func checkOwnName(name string) error {
	if name == "lo" {
		return errors.New(quoted(name) + " is the loopback device, and cannot name the tunnel")
	}
	if name == "interfaces" {
		return errors.New(quoted(name) + ` is a word of "srdtun show", and cannot name the tunnel`)
	}
	return checkIfname(name)
}

// CheckName returns why no tunnel can have a name, or nil.
func CheckName(name string) error { return checkOwnName(name) }
