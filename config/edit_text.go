package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// bareNumbers matches a list of numbers without the brackets of TOML.
var bareNumbers = regexp.MustCompile(`^ *\d+(?: *, *\d+)* *$`)

// numbers begins the kind of each key with a list of numbers.
const numbers = "list of numbers"

// put returns the text in which the key at the spot has the given value.
func (p spot) put(text []byte, value string) ([]byte, error) {
	doc := string(text)
	if value != "" {
		var err error
		if value, err = p.key.asTOML(value); err != nil {
			return nil, err
		}
	}
	if p.section.has(p.key.name) {
		from, to, ok := valueAt(doc, p.section.off(p.key.name))
		if !ok {
			return nil, fmt.Errorf("%s is written in a way that cannot be edited", p.key.name)
		}
		if value == "" {
			return []byte(withoutLine(doc, p.section.off(p.key.name), to)), nil
		}
		return []byte(doc[:from] + value + doc[to:]), nil
	}
	if value == "" {
		return text, nil
	}
	return p.insert(doc, value)
}

// asTOML returns a value as TOML: unchanged if it is valid TOML, otherwise as a string. For a
// list, asTOML also accepts words with commas between them.
func (k keySpec) asTOML(value string) (string, error) {
	if strings.ContainsAny(value, "\r\n") {
		return "", fmt.Errorf("%s: a value has one line", k.name)
	}
	list := strings.HasPrefix(k.kind, "list")
	if strings.HasPrefix(k.kind, numbers) && bareNumbers.MatchString(value) {
		return "[" + value + "]", nil
	}
	var vals map[string]any
	vals, err := decodeTOML("x = " + value + "\n")
	if _, quoted := vals["x"].(string); err == nil && !quoted && k.isText() {
		return inTOML(value), nil
	}
	if _, listed := vals["x"].([]any); err == nil && !listed && list && !strings.HasPrefix(value, `"`) && !strings.HasPrefix(value, "'") {
		return listTOML([]string{value}), nil
	}
	if _, number := vals["x"].(float64); err == nil && len(vals) == 1 && (!number || k.name == "dre_alpha") {
		return value, nil
	}
	if list && strings.Contains(value, ",") {
		var v []string
		for part := range strings.SplitSeq(value, ",") {
			v = append(v, strings.TrimSpace(part))
		}
		return listTOML(v), nil
	}
	return inTOML(value), nil
}

// isText reports whether every value of the key is a string.
func (k keySpec) isText() bool {
	return slices.Contains([]string{"text", "base64", "path"}, k.kind) || strings.HasPrefix(k.kind, "name of") || strings.HasPrefix(k.kind, "an entry") ||
		strings.HasPrefix(k.kind, `"`) && !strings.Contains(k.kind, "number")
}

// unit returns the unit of the key's numbers for messages, or "" if they have none.
func (k keySpec) unit() string {
	unit, _, found := strings.Cut(k.kind, ", ")
	if !found || strings.ContainsAny(unit, `". `) {
		return ""
	}
	return unit
}

// valueAt returns the start and end of the value of the key at an offset.
func valueAt(doc string, off int) (from, to int, ok bool) {
	s := scanner{doc: doc, off: off, deep: -1, twice: second{keyPart: keyPart{off: -1}}}
	if _, ok := s.path(); !ok || !s.take("=") {
		return 0, 0, false
	}
	s.skip(" \t")
	from = s.off
	if !s.value(&mark{}) {
		return 0, 0, false
	}
	return from, from + len(strings.TrimRight(doc[from:s.off], " \t")), true
}

// withoutLine removes the lines of a key and its value.
func withoutLine(doc string, from, to int) string {
	start := strings.LastIndexByte(doc[:from], '\n') + 1
	end := len(doc)
	if n := strings.IndexByte(doc[to:], '\n'); n >= 0 {
		end = to + n + 1
	}
	return doc[:start] + doc[end:]
}

// insert adds the key to its section, after the key's commented example if there is one, otherwise
// after the section's header.
func (p spot) insert(doc, value string) ([]byte, error) {
	line := p.key.name + " = " + value + "\n"
	head := header(p.section.name)
	at := p.section.at.off
	if p.section.vals == nil {
		if doc != "" && !strings.HasSuffix(doc, "\n") {
			doc += "\n"
		}
		return []byte(withSection(doc, head+"\n"+line)), nil
	}
	if !strings.HasPrefix(doc[at:], "[") {
		return nil, fmt.Errorf("%s has no line %s of its own; add %s = %s by hand", p.section.name, head, p.key.name, p.key.shown(value))
	}
	body := lineEnd(doc, at)
	if body == len(doc) && !strings.HasSuffix(doc, "\n") {
		doc += "\n"
		body++
	}
	if n := exampleEnd(doc[body:bodyEnd(doc, body)], p.key.name); n >= 0 {
		body += n
	}
	return []byte(doc[:body] + line + doc[body:]), nil
}

// withSection adds a section before the first peer and the comment above that peer.
func withSection(doc, section string) string {
	m := locate(doc).root.keys["peer"]
	if m == nil || len(m.items) == 0 || !strings.HasPrefix(doc[m.items[0].off:], "[[") {
		if doc != "" {
			section = "\n" + section
		}
		return doc + section
	}
	at := m.items[0].off
	for at > 0 {
		above := strings.LastIndexByte(doc[:at-1], '\n') + 1
		if !strings.HasPrefix(doc[above:], "#") {
			break
		}
		at = above
	}
	return doc[:at] + section + "\n" + doc[at:]
}

// lineEnd returns the offset of the line after the one that contains the offset `off`.
func lineEnd(doc string, off int) int {
	if n := strings.IndexByte(doc[off:], '\n'); n >= 0 {
		return off + n + 1
	}
	return len(doc)
}

// bodyEnd returns the end of the section whose body begins at the offset `off`.
func bodyEnd(doc string, off int) int {
	var starts []int
	for _, k := range locate(doc).root.keys {
		starts = append(starts, k.off)
		for _, i := range k.items {
			starts = append(starts, i.off)
		}
	}
	slices.Sort(starts)
	for _, s := range starts {
		if s >= off && strings.HasPrefix(doc[s:], "[") {
			return s
		}
	}
	return len(doc)
}

// commentedHeader matches the commented header of an example section.
var commentedHeader = regexp.MustCompile(`(?m)^#[ \t]*\[`)

// exampleEnd returns the offset after the line "#key = ..." in the body of a section, or -1.
func exampleEnd(body, key string) int {
	if n := commentedHeader.FindStringIndex(body); n != nil {
		body = body[:n[0]]
	}
	at := regexp.MustCompile(`(?m)^#[ \t]*` + regexp.QuoteMeta(key) + `[ \t]*=.*\n`).FindStringIndex(body)
	if at == nil {
		return -1
	}
	return at[1]
}
