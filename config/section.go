package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// document is one file while it is read. Faults are collected, so that the one
// reported is the first in the file and does not depend on the order of checks.
type document struct {
	file   string // as faults name it
	dir    string // where its key files are
	sealed bool   // no other file may be read
	guest  bool   // it is of somebody who may not have other files read
	unseen bool   // its lines tell nothing to whoever reads an error
	lines  lineIndex
	faults []fault

	keyFiles []KeyFile // that were named
}

// KeyFile is a file with a key that a configuration names.
type KeyFile struct {
	Line     int
	Key      string // such as "interface.private_key_file"
	Path     string
	Relative bool // to the configuration: a service manager can hand it over beside it

	wide fs.FileMode // permissions of others
}

type fault struct {
	off int
	err *Error
}

// first is the fault that comes first in the file, or nil.
func (d *document) first() error {
	if len(d.faults) == 0 {
		return nil
	}
	slices.SortStableFunc(d.faults, func(a, b fault) int {
		return cmp.Or(cmp.Compare(a.off, b.off), cmp.Compare(a.err.Key, b.err.Key))
	})
	return d.faults[0].err
}

func (d *document) fail(off int, key string, cause error, msg string) {
	e := &Error{File: d.file, Line: d.lines.line(off), Key: shownKey(key), Msg: msg, cause: cause}
	d.faults = append(d.faults, fault{off, e})
}

// typoEdits is how far from a known key a long word still is a slip of the hand.
const typoEdits = 4

// shownKey is a key as errors show it. One that is in the schema, or nearly so, is
// shown whole; a long word that is not may be a secret that lost its key.
func shownKey(key string) string {
	last := plain(key[strings.LastIndexByte(key, '.')+1:])
	for _, s := range schema {
		if edits(last, plain(nearest(last, s.names()))) <= typoEdits {
			return clipped(key)
		}
	}
	return clipped(redacted(key))
}

// section is one table of a document: its values and where they stand. A section
// that the file does not have is empty and stands where its parent does.
type section struct {
	doc  *document
	name string // as in errors: "interface", "peer"
	vals map[string]any
	at   *mark
}

func (s section) has(key string) bool {
	_, ok := s.vals[key]
	return ok
}

// off is where a key stands, or the section when it has no such key.
func (s section) off(key string) int { return s.at.key(key).off }

// fail notes a fault of a key at its place.
func (s section) fail(key, format string, args ...any) {
	s.failAt(s.off(key), key, format, args...)
}

// failAt notes a fault of a key at an offset, which may be that of one element.
func (s section) failAt(off int, key, format string, args ...any) {
	if s.name != "" {
		key = s.name + "." + key
	}
	s.doc.fail(off, key, nil, fmt.Sprintf(format, args...))
}

// text reads a string; a missing key gives the default.
func (s section) text(key, absent string) string {
	v, ok := s.vals[key]
	if !ok {
		return absent
	}
	text, ok := v.(string)
	if !ok {
		s.fail(key, "want a string in quotes, not %s", kind(v))
		return absent
	}
	return text
}

// oneOf reads a string that must be among the known ones.
func (s section) oneOf(key, absent string, known ...string) string {
	text := s.text(key, absent)
	if !slices.Contains(known, text) {
		s.fail(key, "unknown %s %s; known: %s", key, quoted(text), list(known))
		return absent
	}
	return text
}

// number reads a whole number from lo to hi; a missing key gives the default.
func (s section) number(key string, absent, lo, hi int64) int64 {
	v, ok := s.vals[key]
	if !ok {
		return absent
	}
	n, ok := v.(int64)
	switch {
	case !ok:
		s.fail(key, "want a number without quotes, not %s", kind(v))
	case n < lo || n > hi:
		s.fail(key, "%d is out of bounds; want %d to %d", n, lo, hi)
	default:
		return n
	}
	return absent
}

// item is a string of a list and where it stands.
type item struct {
	text string
	off  int
}

// items reads a list of strings, or a string alone as a list of one.
func (s section) items(key string, most int) []item {
	var values []any
	switch v := s.vals[key].(type) {
	case nil:
		return nil
	case string:
		if strings.Contains(v, ",") {
			s.fail(key, "several entries in one string; want a list: %s", asList(v))
			return nil
		}
		return []item{{v, s.off(key)}}
	case []any:
		values = v
	default:
		s.fail(key, "want a list of strings, not %s", kind(v))
		return nil
	}
	if len(values) > most {
		s.fail(key, "%d entries; at most %d are allowed", len(values), most)
		return nil
	}
	items := make([]item, 0, len(values))
	for i, v := range values {
		off := s.at.key(key).item(i).off
		text, ok := v.(string)
		if !ok {
			s.failAt(off, key, "want strings in quotes, not %s", kind(v))
			continue
		}
		items = append(items, item{text, off})
	}
	return items
}

// asList writes what stands between commas as a list in TOML, of which it shows no
// more than of any value.
func asList(text string) string {
	var parts []string
	for _, part := range strings.Split(clipped(untangled(text, false)), ",") {
		parts = append(parts, strconv.Quote(strings.TrimSpace(part)))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// kind names the TOML type of a decoded value.
func kind(v any) string {
	switch v.(type) {
	case string:
		return "a string"
	case int64:
		return "an integer"
	case float64:
		return "a floating-point number"
	case bool:
		return "a boolean"
	case time.Time:
		return "a date or time"
	case []any:
		return "an array"
	case []map[string]any:
		return "an array of tables"
	}
	return "a table"
}

// list joins known values for an error.
func list(known []string) string {
	text := ""
	for i, k := range known {
		if i > 0 {
			text += ", "
		}
		text += k
	}
	return text
}
