package config

import (
	"cmp"
	"sort"
	"strings"
)

// maxDepth bounds the nesting of values and of keys. The deepest valid value has depth three: an
// endpoint in a list in an inline peer. The TOML decoder recurses for each level. Without the
// bound, a file of brackets could exhaust the stack.
const maxDepth = 8

// mark is the position of a value in a document. A mark contains the marks of the value's parts,
// which are the keys of a table or the items of an array.
type mark struct {
	off   int  // offset in bytes from the start of the document
	named bool // the document has a header [name]
	keys  map[string]*mark
	items []*mark
}

// key returns the mark of a key in a table, or the table's mark if the key is missing.
func (m *mark) key(name string) *mark {
	if part := m.keys[name]; part != nil {
		return part
	}
	return m
}

// item returns the mark of an array's element, or the array's own mark if the element is missing.
func (m *mark) item(i int) *mark {
	if i < len(m.items) {
		return m.items[i]
	}
	return m
}

// into returns the table with the given name, in which the next part of a dotted key is looked up.
// If the name belongs to an array of tables, into() returns the last table of the array. It creates
// a missing table.
func (m *mark) into(name string, off int) *mark {
	part := m.part(name, off)
	if n := len(part.items); n > 0 {
		return part.items[n-1]
	}
	return part
}

func (m *mark) part(name string, off int) *mark {
	part := m.keys[name]
	if part == nil {
		part = &mark{off: off}
		if m.keys == nil {
			m.keys = map[string]*mark{}
		}
		m.keys[name] = part
	}
	return part
}

// lineIndex holds the offset of each line end in a document.
type lineIndex []int

func newLineIndex(doc string) lineIndex {
	var ends lineIndex
	for i := range len(doc) {
		if doc[i] == '\n' {
			ends = append(ends, i)
		}
	}
	return ends
}

// line returns the number of the line that contains an offset; the first line is 1.
func (x lineIndex) line(off int) int { return sort.SearchInts(x, off) + 1 }

// located holds the positions that the function locate() found.
type located struct {
	root *mark
	deep int // offset of a value nested deeper than maxDepth, or -1

	// twice is a repeated key or table header; its offset is -1 if nothing is repeated. It is
	// needed because the decoder accepts a key that replaces the parts of a dotted key, and never
	// reports the line of the first occurrence.
	twice second
}

// second is the second occurrence of a key or a header.
type second struct {
	keyPart
	first  int  // offset of the first occurrence
	header bool // it is a table header
}

// locate finds the position of every key and array element in a TOML document, because the
// decoder reports no positions. For documents that the decoder accepts, locate follows TOML 1.0
// and 1.1. In an invalid document, locate() stops at the first fault that it finds.
func locate(doc string) located {
	root := &mark{}
	s := scanner{doc: doc, deep: -1, twice: second{keyPart: keyPart{off: -1}}}
	s.document(root)
	return located{root, s.deep, s.twice}
}

// scanner is the state of locate in a document. If a method of the scanner returns false, the scan
// ends. No method moves backwards or beyond the end.
type scanner struct {
	doc   string
	off   int
	depth int
	table string // the name in the last header
	deep  int
	twice second

	inside     string // full name of the key whose value is parsed; "": none
	lastScalar int    // last offset at which a scalar may begin
	scalar     scalar // the last scalar that was parsed
}

// document parses all lines, up to the first fault.
func (s *scanner) document(root *mark) {
	table := root
	for s.blank(); s.off < len(s.doc); s.blank() {
		ok := false
		if s.at("[") {
			table, ok = s.header(root)
		} else {
			ok = s.pair(table)
		}
		if !ok {
			return
		}
	}
}

func (s *scanner) at(text string) bool { return strings.HasPrefix(s.doc[s.off:], text) }

func (s *scanner) take(text string) bool {
	if !s.at(text) {
		return false
	}
	s.off += len(text)
	return true
}

// skip moves past all bytes that are in the set.
func (s *scanner) skip(set string) {
	for s.off < len(s.doc) && strings.IndexByte(set, s.doc[s.off]) >= 0 {
		s.off++
	}
}

// skipUntil moves to the next byte that is in the set.
func (s *scanner) skipUntil(set string) {
	if n := strings.IndexAny(s.doc[s.off:], set); n >= 0 {
		s.off += n
	} else {
		s.off = len(s.doc)
	}
}

// blank moves past white space, line ends and comments.
func (s *scanner) blank() {
	for s.skip(" \t\r\n"); s.at("#"); s.skip(" \t\r\n") {
		s.skipUntil("\n")
	}
}

// header parses [table] or [[array of tables]] and returns the table that follows.
func (s *scanner) header(root *mark) (*mark, bool) {
	start := s.off
	closing := "]"
	if s.take("[["); s.off > start {
		closing = "]]"
	} else {
		s.take("[")
	}
	path, ok := s.path()
	if !ok || !s.take(closing) {
		return nil, false
	}
	s.table = joined("", path)
	table := root
	for _, k := range path[:len(path)-1] {
		table = table.into(k.name, start)
	}
	last := path[len(path)-1].name
	if closing == "]]" {
		array := table.part(last, start)
		array.items = append(array.items, &mark{off: start})
		return array.items[len(array.items)-1], true
	}
	table = table.into(last, start)
	if table.named {
		s.twice = second{keyPart{s.table, start}, table.off, true}
		return nil, false
	}
	table.off, table.named = start, true
	return table, true
}

// pair parses key = value, and adds its mark to a table.
func (s *scanner) pair(table *mark) bool {
	path, ok := s.path()
	if !ok || !s.take("=") {
		return false
	}
	for _, k := range path[:len(path)-1] {
		table = table.into(k.name, k.off)
	}
	last := path[len(path)-1]
	if m := table.keys[last.name]; m != nil {
		s.twice = second{keyPart{joined(s.table, path), last.off}, m.off, false}
		return false
	}
	s.skip(" \t")
	outer := s.inside
	s.inside = joined(cmp.Or(outer, s.table), path)
	ok = s.value(table.part(last.name, last.off))
	s.inside = outer
	return ok
}

func (s *scanner) value(m *mark) bool {
	switch {
	case s.at("["):
		return s.nested(m, "]", s.element)
	case s.at("{"):
		return s.nested(m, "}", s.pair)
	}
	start, ok := s.off, true
	if s.at(`"`) || s.at("'") {
		_, ok = s.text()
	} else {
		s.skipUntil(",]}#\r\n")
		ok = s.off > start
	}
	if ok && start <= s.lastScalar {
		s.scalar = scalar{start, strings.TrimRight(s.doc[start:s.off], " \t"), s.inside, s.depth == 0 && s.at(",")}
	}
	return ok
}

func (s *scanner) element(array *mark) bool {
	m := &mark{off: s.off}
	array.items = append(array.items, m)
	return s.value(m)
}

// nested parses the parts of an array or an inline table, up to the closing bracket.
func (s *scanner) nested(m *mark, closing string, part func(*mark) bool) bool {
	if s.depth++; s.depth > maxDepth {
		s.deep = s.off
		return false
	}
	s.off++ // the opening bracket
	for s.blank(); !s.at(closing); s.blank() {
		if !part(m) {
			return false
		}
		if s.blank(); !s.take(",") && !s.at(closing) {
			return false
		}
	}
	s.depth--
	return s.take(closing)
}
