package config

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/writers"
)

// document is a file that the parser reads. It collects all faults. Whatever the order of the
// checks is, it reports the fault that is first in the file.
type document struct {
	file   string // name of the file in faults
	dir    string // directory of its key files
	sealed bool   // no other file may be read
	guest  bool   // its author may not make this process read other files
	unseen bool   // the user never sees the text, so faults have no line numbers
	lines  lineIndex
	faults []fault

	keyFiles []KeyFile // key files that it names
}

// KeyFile is a key file that a configuration names.
type KeyFile struct {
	Line     int
	Key      string // such as "interface.private_key_file"
	Path     string
	Relative bool // Path was relative to the configuration, so a service manager can pass the file with it

	wide   fs.FileMode     // accepted permissions of group and others
	writer *writers.Writer // how another user could change it; nil: none could
}

type fault struct {
	off int
	err *Error
}

// first returns the fault with the lowest position in the file, or nil.
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

// typoEdits is the maximum edit distance between a misspelled key and a known key.
const typoEdits = 4

// shownKey returns the form of a key for an error message. A known key, or a key similar to one, is
// shown whole. Any other long word is hidden, because it may be a secret that has lost its key.
func shownKey(key string) string {
	last := plain(key[strings.LastIndexByte(key, '.')+1:])
	for _, s := range schema {
		if edits(last, plain(nearest(last, s.names()))) <= typoEdits {
			return clipped(keytext.Hide(key, nil))
		}
	}
	return clipped(redacted(key))
}

// section is one table of a document, with its values and their positions. A section that the
// file lacks is empty, and has the position of its parent.
type section struct {
	doc  *document
	name string // name in errors: "interface", "peer"
	vals map[string]any
	at   *mark
}

func (s section) has(key string) bool {
	_, ok := s.vals[key]
	return ok
}

// off returns the offset of a key, or of the section if the key is missing.
func (s section) off(key string) int { return s.at.key(key).off }

// fail records a fault at the position of a key.
func (s section) fail(key, format string, args ...any) {
	s.failAt(s.off(key), key, format, args...)
}

// failAt records a fault of a key at another offset, such as that of an element.
func (s section) failAt(off int, key, format string, args ...any) {
	if s.name != "" {
		key = s.name + "." + key
	}
	s.doc.fail(off, key, nil, fmt.Sprintf(format, args...))
}

// text returns the string of a key, or `absent` if the key is missing.
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

// oneOf returns a string that must be one of the known strings.
func (s section) oneOf(key, absent string, known ...string) string {
	text := s.text(key, absent)
	i := slices.Index(known, text)
	if i < 0 {
		s.fail(key, "unknown %s %s; known: %s", key, quoted(text), list(known))
		return absent
	}
	return known[i] // a part of the file would keep the whole file
}

// number returns an integer from lo to hi, or `absent` if the key is missing.
func (s section) number(key string, absent, lo, hi int64) int64 {
	v, ok := s.vals[key]
	if !ok {
		return absent
	}
	n, ok := v.(int64)
	switch text, isText := v.(string); {
	case isText:
		s.fail(key, "want %s, without quotes, not %s", s.bounds(key, lo, hi), quoted(text))
	case !ok:
		s.fail(key, "want %s, not %s", s.bounds(key, lo, hi), kind(v))
	case n < lo || n > hi:
		s.fail(key, "%d is out of bounds; want %d to %d%s", n, lo, hi, s.unit(key))
	default:
		return n
	}
	return absent
}

// bounds describes the numbers that a key accepts.
func (s section) bounds(key string, lo, hi int64) string {
	of := ""
	if unit := s.unit(key); unit != "" {
		of = "of" + unit + " "
	}
	return fmt.Sprintf("a whole number %sfrom %d to %d", of, lo, hi)
}

// unit returns the unit of a key's numbers after a space, or "" if they have none.
func (s section) unit(key string) string {
	for _, k := range sectionOf(s.name).keys {
		if unit := k.unit(); k.name == key && unit != "" {
			return " " + unit
		}
	}
	return ""
}

// item is a string of a list, with its offset in the file.
type item struct {
	text string
	off  int
}

// items returns a list of strings, or a single string as a list.
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

// asList prints comma-separated words as a TOML list. asList cuts long texts and hides secrets,
// as quoted does.
func asList(text string) string {
	var parts []string
	for _, part := range strings.Split(clipped(untangled(text, false)), ",") {
		parts = append(parts, strconv.Quote(strings.TrimSpace(part)))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// kind returns the name of the TOML type of a decoded value.
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

// list joins the known values for an error message.
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
