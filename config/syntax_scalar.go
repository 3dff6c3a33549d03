package config

import (
	"regexp"
	"strconv"
	"strings"
)

// scalar is a value that is neither a list nor a table.
type scalar struct {
	off  int
	text string
	key  string // full name of its key, such as "interface.mtu"
	more bool   // a comma follows, outside a list
}

// scalarAt returns the last scalar that begins at or before an offset.
func scalarAt(doc string, off int) scalar {
	s := scanner{doc: doc, deep: -1, lastScalar: off}
	s.document(&mark{})
	return s.scalar
}

var (
	// digitsOnly matches a number that the decoder's own message explains, such as 01420.
	digitsOnly = regexp.MustCompile(`^[+-]?[0-9_]*$`)
	// curly matches the quotation marks of a word processor or web page.
	curly = regexp.MustCompile("^[“”„‘’«»`´]")
)

// advice returns what to write instead of a scalar, or "" if the scalar is not the fault.
func (v scalar) advice() string {
	_, err := decodeTOML("x = " + v.text + "\n")
	if !v.more && (err == nil || digitsOnly.MatchString(v.text)) {
		return ""
	}
	k := specOf(v.key)
	list := strings.HasPrefix(k.kind, "list of")
	text := k.isText() || list && !strings.HasPrefix(k.kind, numbers) || strings.Contains(k.kind, strconv.Quote(v.text))
	switch {
	case err == nil && list:
		return "several entries stand in brackets"
	case err == nil && text:
		return "want one value"
	case err != nil && curly.MatchString(v.text):
		return `want straight quotes ("), or no quotes for a number, true and false`
	case k.name == "":
		return "a text stands in quotes; only numbers, times, true and false stand without them"
	case text && harmlessWord(v.text) && !k.secret:
		return "a text stands in quotes: " + strconv.Quote(v.text)
	case text:
		return "a text stands in quotes"
	case list:
		return "want a " + k.kind
	}
	return "want " + k.kind
}

// specOf returns the key with a full name such as "interface.mtu". The result is zero if the
// schema has no such key.
func specOf(full string) keySpec {
	for _, s := range schema {
		for _, k := range s.keys {
			if s.name+"."+k.name == full {
				return k
			}
		}
	}
	return keySpec{}
}
