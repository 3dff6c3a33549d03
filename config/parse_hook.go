package config

import (
	"errors"
	"net/netip"
	"path/filepath"
	"strings"
)

// dns parses resolvers and search domains, in any order as in wg-quick(8).
func (s section) dns(key string) []string {
	var v []string
	for _, it := range s.items(key, maxDNS) {
		if err := checkDNS(it.text); err != nil {
			s.failAt(it.off, key, "%s: %v", quoted(it.text), err)
			continue
		}
		v = append(v, it.text)
	}
	return v
}

// checkDNS accepts an address, or a name of letters, digits and hyphens. The text becomes an
// argument of the resolver program, and such a word cannot be mistaken for an option.
func checkDNS(text string) error {
	if addr, err := netip.ParseAddr(text); err == nil {
		_, err = parseAddr(addr.String())
		return err
	}
	name := strings.TrimSuffix(text, ".")
	if len(name) > maxHostBytes || allNumeric(name[strings.LastIndexByte(name, '.')+1:]) {
		return errors.New("neither an address nor a search domain")
	}
	for label := range strings.SplitSeq(name, ".") {
		if !isLabel(label) {
			return errors.New("neither an address nor a search domain")
		}
	}
	return nil
}

// commands parses a list of commands, each a list of words, or a single command.
func (s section) commands(key string) [][]string {
	v, ok := s.vals[key]
	if !ok {
		return nil
	}
	list, ok := v.([]any)
	if !ok {
		s.fail(key, `want a list of words, not %s, because no shell splits it; for example ["ip", "route", "add", "10.1.0.0/16", "dev", "%%i"]`, kind(v))
		return nil
	}
	if len(list) > 0 && kind(list[0]) == "a string" {
		if argv := s.words(key, list, s.at.key(key)); argv != nil {
			return [][]string{argv}
		}
		return nil
	}
	if len(list) > maxCommands {
		s.fail(key, "%d commands; at most %d are allowed", len(list), maxCommands)
		return nil
	}
	var commands [][]string
	for i, one := range list {
		words, ok := one.([]any)
		if !ok {
			s.failAt(s.itemOff(key, i), key, "want a list of words, not %s", kind(one))
			continue
		}
		commands = append(commands, s.words(key, words, s.at.key(key).item(i)))
	}
	return commands
}

// words parses the words of one command.
func (s section) words(key string, list []any, at *mark) []string {
	if len(list) == 0 || len(list) > maxWords {
		s.failAt(at.off, key, "a command has 1 to %d words", maxWords)
		return nil
	}
	var argv []string
	for i, one := range list {
		word, ok := one.(string)
		switch off := at.item(i).off; {
		case !ok:
			s.failAt(off, key, "want strings in quotes, not %s", kind(one))
		case len(word) > maxWord || strings.ContainsRune(word, 0):
			s.failAt(off, key, "a word has at most %d bytes, and none of them is zero", maxWord)
		case i == 0 && (word == "" || strings.ContainsAny(word, " \t\n")):
			s.failAt(off, key, `the first word is not a program; each word is a string of its own, as in ["ip", "link"]`)
		default:
			argv = append(argv, word)
			continue
		}
		return nil
	}
	return argv
}

// dir parses the path of a directory, and makes it absolute, because the daemon may run in
// another directory.
func (s section) dir(key string) string {
	path := s.text(key, "")
	if path == "" {
		if s.has(key) && kind(s.vals[key]) == "a string" {
			s.fail(key, "want the path of a directory")
		}
		return ""
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(s.doc.file), path)
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		s.fail(key, "%v", err)
	}
	return abs
}
