package config

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxIfnameBytes is IFNAMSIZ of linux/if.h without the final zero byte.
const maxIfnameBytes = 15

// checkIfname applies the rules of the kernel's function dev_valid_name (net/core/dev.c). By
// these rules, a name has 1 to 15 bytes, is not "." or "..", and has no slash, colon or white
// space. The kernel checks bytes rather than characters, and counts 0xa0 as white space. srdtun
// adds three rules: checkIfname refuses control characters, because no terminal shows them, and
// '%', because the kernel replaces it by a number. checkIfname refuses "all" and "default",
// because the kernel's sysctls use these names.
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

// checkOwnName applies the rules of checkIfname, and further rules for the tunnel's device. It
// refuses "lo", which every network namespace has, and "interfaces", which is an argument of
// `srdtun show`. checkIfname already refuses "all", the other argument of that command. A user must
// be able to type and to see the name, so checkOwnName refuses options and invisible characters.
func checkOwnName(name string) error {
	if name == "lo" {
		return errors.New(quoted(name) + " is the loopback device, and cannot name the tunnel")
	}
	if name == "interfaces" {
		return errors.New(quoted(name) + ` is a word of "srdtun show", and cannot name the tunnel`)
	}
	if err := checkIfname(name); err != nil {
		return err
	}
	if strings.HasPrefix(name, "-") {
		return errors.New(quoted(name) + ` begins with "-" as an option does, and cannot name the tunnel`)
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) {
		return errors.New(quoted(name) + " has an invisible character, and cannot name the tunnel")
	}
	return nil
}

// CheckName returns the reason why a tunnel cannot have this name, or nil if it can.
func CheckName(name string) error { return checkOwnName(name) }
