package config

import (
	"strconv"
	"strings"
)

// keyPart is one name in a dotted key, with its offset.
type keyPart struct {
	name string
	off  int
}

// joined returns the full name of a dotted key in a table, as error messages show it.
func joined(table string, path []keyPart) string {
	for _, k := range path {
		table += "." + k.name
	}
	return strings.TrimPrefix(table, ".")
}

// path parses a dotted key of bare and quoted names, and the white space after it.
func (s *scanner) path() ([]keyPart, bool) {
	var path []keyPart
	for {
		s.skip(" \t")
		part := keyPart{off: s.off}
		ok := true
		if s.at(`"`) || s.at("'") {
			part.name, ok = s.text()
		} else {
			s.skipUntil(" \t\r\n.=[]{},#\"'")
			part.name = s.doc[part.off:s.off]
			ok = part.name != ""
		}
		if !ok {
			return nil, false
		}
		if len(path) == maxDepth {
			s.deep = part.off
			return nil, false
		}
		path = append(path, part)
		s.skip(" \t")
		if !s.take(".") {
			return path, true
		}
	}
}

// text parses a string of any of the four kinds. text() does not return the content of a
// multi-line string, because such a string cannot be a key.
func (s *scanner) text() (string, bool) {
	switch {
	case s.take(`"""`):
		return "", s.multiLine('"')
	case s.take("'''"):
		return "", s.multiLine('\'')
	case s.take("'"):
		start := s.off
		s.skipUntil("'\n")
		return s.doc[start:s.off], s.take("'")
	}
	s.off++ // the opening quote
	start := s.off
	for s.skipUntil("\"\\\n"); s.at(`\`); s.skipUntil("\"\\\n") {
		s.off = min(s.off+2, len(s.doc))
	}
	return unescaped(s.doc[start:s.off]), s.take(`"`)
}

// multiLine moves to the end of a multi-line string. The content of the string may end with one or
// two quotes, so the closing quotes are the last three of a run.
func (s *scanner) multiLine(quote byte) bool {
	closing := strings.Repeat(string(quote), 3)
	for s.off < len(s.doc) {
		switch {
		case s.take(closing):
			for extra := 0; extra < 2 && s.take(closing[:1]); extra++ {
			}
			return true
		case quote == '"' && s.at(`\`):
			s.off = min(s.off+2, len(s.doc))
		default:
			s.off++
		}
	}
	return false
}

// escapeDigits is the number of hexadecimal digits in an escape such as \u.
var escapeDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescaped replaces the escapes of a basic string by their characters (TOML 1.1, "String").
// unescaped() keeps an invalid escape, because the decoder has already refused it.
func unescaped(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		if n := escapeDigits[s[i]]; n > 0 && i+n < len(s) {
			code, _ := strconv.ParseUint(s[i+1:i+1+n], 16, 32)
			b.WriteRune(rune(code))
			i += n
		} else if at := strings.IndexByte(`btnfre`, s[i]); at >= 0 {
			b.WriteByte("\b\t\n\f\r\x1b"[at])
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
