package config

import (
	"regexp"
	"strings"
)

// listEnd is the state of a list at the end of a line.
type listEnd int

const (
	listNone   listEnd = iota // no list begins or ends in the line
	listOpen                  // a list begins and continues
	listClosed                // the list ends
)

// element matches a string without escapes, or a bare word, and the spaces after it.
var element = regexp.MustCompile(`^(?:"([^"\\]*)"|'([^']*)'|([A-Za-z0-9_.+-]+))[ \t]*`)

// elements parses the part of a key's value that is on one line. The value is one element or a
// list.
func (k keySpec) elements(value string) (v []string, end listEnd, ok bool) {
	if rest, list := strings.CutPrefix(value, "["); list {
		v, end, ok = scanElements(rest)
		if end == listNone {
			end = listOpen
		}
		return v, end, ok
	}
	one, rest, ok := takeElement(value)
	return []string{one}, listNone, ok && atEnd(rest)
}

// scanElements parses elements between commas, up to the end of the line or the list.
func scanElements(text string) (v []string, end listEnd, ok bool) {
	for {
		text = strings.TrimLeft(text, " \t")
		if atEnd(text) {
			return v, listNone, true
		}
		if rest, closed := strings.CutPrefix(text, "]"); closed {
			return v, listClosed, atEnd(rest)
		}
		one, rest, ok := takeElement(text)
		if !ok {
			return nil, listNone, false
		}
		v = append(v, one)
		if comma, more := strings.CutPrefix(rest, ","); more {
			text = comma
		} else if text = rest; !atEnd(rest) && !strings.HasPrefix(rest, "]") {
			return nil, listNone, false
		}
	}
}

// scanCommands parses a command "[a, b]", a list of commands "[[a], [b]]", or one line of such a
// list. The result `whole` means that the next line cannot continue the list.
func scanCommands(text string) (commands [][]string, whole bool) {
	rest, outer := strings.CutPrefix(text, "[")
	if !outer {
		return nil, false
	}
	if rest = strings.TrimLeft(rest, " \t"); !strings.HasPrefix(rest, "[") {
		argv, end, ok := scanElements(rest)
		after := strings.TrimSpace(text)
		if !ok { // one command of a list on a separate line: "[a, b],"
			inner, _, found := strings.Cut(after, "],")
			argv, end, ok = scanElements(strings.TrimPrefix(inner, "[") + "]")
			ok = ok && found && atEnd(strings.TrimPrefix(after, inner+"],"))
		}
		if !ok || end != listClosed || len(argv) == 0 {
			return nil, false
		}
		return [][]string{argv}, true
	}
	for strings.HasPrefix(rest, "[") {
		inner, after, closed := strings.Cut(rest[1:], "]")
		argv, end, ok := scanElements(inner + "]")
		if !closed || !ok || end != listClosed || len(argv) == 0 {
			return nil, false
		}
		commands = append(commands, argv)
		rest = strings.TrimLeft(after, " \t")
		rest = strings.TrimLeft(strings.TrimPrefix(rest, ","), " \t")
	}
	if closed, ok := strings.CutPrefix(rest, "]"); ok && atEnd(closed) {
		return commands, true
	}
	if !atEnd(rest) {
		return nil, false
	}
	return commands, false
}

func takeElement(text string) (one, rest string, ok bool) {
	m := element.FindStringSubmatch(text)
	if m == nil {
		return "", "", false
	}
	return m[1] + m[2] + m[3], text[len(m[0]):], true
}

// atEnd reports whether the rest of a line is empty or a comment.
func atEnd(rest string) bool {
	rest = strings.TrimLeft(rest, " \t")
	return rest == "" || rest[0] == '#'
}

// withoutComment removes a comment that follows valid elements.
func withoutComment(text string) string {
	var quote byte
	for i := range len(text) {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#':
			return strings.TrimRight(text[:i], " \t")
		}
	}
	return text
}
