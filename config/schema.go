package config

import (
	"slices"
	"strings"
)

// names returns the names of a section's keys.
func (s sectionSpec) names() (v []string) {
	for _, k := range s.keys {
		v = append(v, k.name)
	}
	return v
}

// header returns the line that begins a section in the file.
func header(name string) string {
	if name == "peer" {
		return "[[peer]]"
	}
	return "[" + name + "]"
}

// keysOf returns the names of the keys that a section may contain. The name "" stands for the whole
// document, which contains the sections.
func keysOf(name string) []string {
	var names []string
	for _, s := range schema {
		if s.name == name {
			return s.names()
		}
		names = append(names, s.name)
	}
	return names
}

// checkKeys reports only the first unknown key of the section. Later unknown keys are ignored,
// because the search for the nearest known key is slow.
func (s section) checkKeys() {
	known := keysOf(s.name)
	first, found := "", false
	for key := range s.vals { // in random order; the fault that is first in the file is reported
		if !slices.Contains(known, key) && (!found || s.off(key) < s.off(first)) {
			first, found = key, true
		}
	}
	if found {
		s.failUnknown(first, known)
	}
}

func (s section) failUnknown(key string, known []string) {
	home, spelled := spelling(s.name, key)
	switch {
	case plain(key) == "saveconfig":
		s.fail(key, "unknown key; %s", insteadOfSave)
	case s.name == "peer" && home == "interface" && strings.HasPrefix(spelled, "private_key"):
		s.fail(key, "unknown key here; %s", insteadOfPrivate)
	case home != s.name && kind(s.vals[key]) != "a table":
		s.fail(key, "unknown key here; the nearest known key is %s in %s", spelled, header(home))
	case s.name == "":
		s.fail(key, "unknown section; %s", similarSection(key, known))
	case spelled == "":
		s.fail(key, "unknown key; no key of %s is similar", header(s.name))
	default:
		s.fail(key, "unknown key; the nearest known key is %s", spelled)
	}
}

// similarSection suggests a section, or lists all.
func similarSection(name string, known []string) string {
	if near, is := Near(name, known); is {
		return "the nearest known is " + header(near)
	}
	var all []string
	for _, s := range known {
		all = append(all, header(s))
	}
	return "there are " + strings.Join(all, ", ")
}

// insteadOfPrivate is the advice for a private key in a peer section.
const insteadOfPrivate = "a private key belongs in [interface] of its own host, and nowhere else; a peer has the public_key of the other end"

// spelling finds the section and the spelling of a misspelled or misplaced key. spelling()
// prefers the section in which the key was found; "" is the document. If no known key is near,
// the result `spelled` is "".
func spelling(section, key string) (home, spelled string) {
	known := keysOf(section)
	if near, is := Near(key, known); is {
		return section, near
	}
	if whole, is := partOf(key, known); is {
		return section, whole
	}
	edited := len(key) + 1
	for _, other := range schema {
		near, is := Near(key, other.names())
		if n := edits(plain(key), plain(near)); is && n < edited {
			home, spelled, edited = other.name, near, n
		}
	}
	if spelled == "" {
		return section, ""
	}
	return home, spelled
}

// leastPart is the minimum length, in bytes, of a word that is accepted as part of a longer key.
const leastPart = 4

// partOf returns the known key that contains a word, such as persistent_keepalive for keepalive. If
// several known keys contain the word, partOf returns none.
func partOf(word string, known []string) (whole string, is bool) {
	for _, k := range known {
		if len(word) >= leastPart && strings.Contains(plain(k), plain(word)) {
			if is {
				return "", false
			}
			whole, is = k, true
		}
	}
	return whole, is
}

// section returns the document's section with the given name.
func (s section) section(name string) section {
	part := section{doc: s.doc, name: name, at: s.at.key(name)}
	switch v := s.vals[name].(type) {
	case nil:
	case map[string]any:
		part.vals = v
		part.checkKeys()
	case []map[string]any:
		if name == "peers" {
			s.fail(name, "want [[peer]], for one peer; [peers] names a directory of peer files")
			break
		}
		s.fail(name, "want one table %s, not %s", header(name), kind(v))
	default:
		s.fail(name, "want one table %s, not %s", header(name), kind(v))
	}
	return part
}

// sections returns the tables of an array, from [[name]] headers or from inline tables.
func (s section) sections(name string, most int) []section {
	var tables []map[string]any
	switch v := s.vals[name].(type) {
	case nil:
	case []map[string]any:
		tables = v
	case []any:
		for i, element := range v {
			table, ok := element.(map[string]any)
			if !ok {
				s.failAt(s.at.key(name).item(i).off, name, "want tables %s, not %s", header(name), kind(element))
				return nil
			}
			tables = append(tables, table)
		}
	default:
		s.fail(name, "want tables %s, with two brackets, not %s", header(name), kind(v))
	}
	if len(tables) > most {
		s.failAt(s.at.key(name).item(most).off, name, "more than %d of them", most)
		return nil
	}
	parts := make([]section, len(tables))
	for i, table := range tables {
		parts[i] = section{doc: s.doc, name: name, vals: table, at: s.at.key(name).item(i)}
		parts[i].checkKeys()
	}
	return parts
}
