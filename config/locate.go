package config

import (
	"sort"
	"strings"
)

// maxDepth bounds how deep values and keys may nest. The deepest that means
// anything here is three, an endpoint in a list in an inline peer. The TOML
// decoder recurses once for each level, so without a bound a file of nothing but
// brackets could use up the stack.
const maxDepth = 8

// mark is where one value of a document stands. Its parts mirror the parts of the
// value: keys for a table, items for an array.
type mark struct {
	off   int  // bytes from the start of the document
	named bool // a header [name] is there
	keys  map[string]*mark
	items []*mark
}

// key is the mark of a part of a table, or the table's own when there is none.
func (m *mark) key(name string) *mark {
	if part := m.keys[name]; part != nil {
		return part
	}
	return m
}

// item is the mark of an element of an array, or the array's own.
func (m *mark) item(i int) *mark {
	if i < len(m.items) {
		return m.items[i]
	}
	return m
}

// into is the table that a key path goes on in: the part of that name, made if it
// is new, and of an array of tables the last one.
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

// lineIndex holds the offset of every line end of a document.
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

// line is the number of the line that holds an offset, 1 for the first.
func (x lineIndex) line(off int) int { return sort.SearchInts(x, off) + 1 }

// located is what a walk over a document found.
type located struct {
	root *mark
	deep int // offset of a value nested deeper than maxDepth, or -1

	// twice is a key that its table has already, or the header of a table that is there
	// already, with off -1 if there is none. The decoder misses a key that replaces the
	// parts of a dotted one, and says of none where the first is.
	twice second
}

// second is what is in a document for the second time.
type second struct {
	keyPart
	first  int  // where it is for the first time
	header bool // of a table
}

// locate finds where every key and array element of a TOML document stands, which
// the decoder does not tell. It follows TOML 1.0 and 1.1 for documents that the
// decoder accepts; of others it marks what comes before the first fault that it
// notices.
func locate(doc string) located {
	root := &mark{}
	s := scanner{doc: doc, deep: -1, twice: second{keyPart: keyPart{off: -1}}}
	table := root
	for s.blank(); s.off < len(doc); s.blank() {
		ok := false
		if s.at("[") {
			table, ok = s.header(root)
		} else {
			ok = s.pair(table)
		}
		if !ok {
			break
		}
	}
	return located{root, s.deep, s.twice}
}

// scanner walks a document. Every method that returns a bool stops the walk with
// false, and never moves backwards or past the end.
type scanner struct {
	doc   string
	off   int
	depth int
	table string // the name in the last header
	deep  int
	twice second
}

func (s *scanner) at(text string) bool { return strings.HasPrefix(s.doc[s.off:], text) }

func (s *scanner) take(text string) bool {
	if !s.at(text) {
		return false
	}
	s.off += len(text)
	return true
}

// skip passes all bytes that are in the set.
func (s *scanner) skip(set string) {
	for s.off < len(s.doc) && strings.IndexByte(set, s.doc[s.off]) >= 0 {
		s.off++
	}
}

// skipUntil passes all bytes that are not in the set.
func (s *scanner) skipUntil(set string) {
	if n := strings.IndexAny(s.doc[s.off:], set); n >= 0 {
		s.off += n
	} else {
		s.off = len(s.doc)
	}
}

// blank passes white space, line ends and comments.
func (s *scanner) blank() {
	for s.skip(" \t\r\n"); s.at("#"); s.skip(" \t\r\n") {
		s.skipUntil("\n")
	}
}

// header reads [table] or [[array of tables]] and gives the table that follows.
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

// pair reads key = value into a table.
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
	return s.value(table.part(last.name, last.off))
}

func (s *scanner) value(m *mark) bool {
	switch {
	case s.at(`"`), s.at("'"):
		_, ok := s.text()
		return ok
	case s.at("["):
		return s.nested(m, "]", s.element)
	case s.at("{"):
		return s.nested(m, "}", s.pair)
	}
	start := s.off
	s.skipUntil(",]}#\r\n")
	return s.off > start
}

func (s *scanner) element(array *mark) bool {
	m := &mark{off: s.off}
	array.items = append(array.items, m)
	return s.value(m)
}

// nested reads the parts of an array or an inline table, up to its closing bracket.
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
