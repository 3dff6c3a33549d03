package control

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// A JSON reply of a few bytes can become large in memory. A null in a list of peers takes five
// bytes of JSON, but a thousand bytes after decoding. So the client computes the memory before it
// decodes.

const (
	// growth bounds the memory of a decoded reply, in bytes for each byte of JSON. In valid replies
	// the names of the fields are longer than their values, and take no memory after decoding. A
	// prefix in a list has no name, and takes twice the length of its text in memory.
	growth = 3
	// freeBytes is the memory in bytes that any reply may take, however short it is.
	freeBytes = 1 << 20
	// mapEntry is the memory of a map entry in bytes, in addition to its key and value.
	mapEntry = 16
	// maxNesting bounds the nesting of objects and lists. Valid replies have seven levels.
	maxNesting = 16
)

var (
	errSize    = errors.New("it would take more memory than its length allows")
	errNesting = errors.New("its values are nested too deep")
)

// checkSize returns an error if decoding a JSON text as a value of type t would take too much
// memory.
func checkSize(text []byte, t reflect.Type) error {
	m := meter{text: text, left: freeBytes + growth*len(text), fields: map[reflect.Type]map[string]reflect.Type{}}
	return m.value(t, 0)
}

// meter reads a JSON text, and subtracts the memory of each value from an allowance.
type meter struct {
	text   []byte // not read yet
	left   int
	fields map[reflect.Type]map[string]reflect.Type // of each struct, by folded name
}

func (m *meter) take(n int) error {
	if m.left -= n; m.left < 0 {
		return errSize
	}
	return nil
}

func (m *meter) peek() byte {
	i := 0
	for strings.IndexByte(" \t\r\n", m.text[i]) >= 0 {
		i++
	}
	m.text = m.text[i:]
	return m.text[0]
}

// value reads a JSON value of type t. The caller of value() has already counted the bytes of t
// itself. If a value is not decoded, its type t is nil.
func (m *meter) value(t reflect.Type, depth int) error {
	if depth > maxNesting {
		return errNesting
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
		if err := m.take(int(t.Size())); err != nil {
			return err
		}
	}
	switch m.peek() {
	case '"':
		return m.take(decoded(m.string()))
	case '{':
		return m.object(t, depth)
	case '[':
		return m.list(t, depth)
	}
	i := 0 // a number or a word ends before the next separator
	for i < len(m.text) && strings.IndexByte(",]} \t\r\n", m.text[i]) < 0 {
		i++
	}
	m.text = m.text[i:]
	return nil
}

func (m *meter) string() []byte {
	i := 1
	for m.text[i] != '"' {
		if m.text[i] == '\\' {
			i++
		}
		i++
	}
	s := m.text[:i+1]
	m.text = m.text[i+1:]
	return s
}

// decoded returns the largest number of bytes that a JSON string can have after decoding. Decoding
// replaces each byte that is not part of valid UTF-8 by a character of three bytes.
func decoded(s []byte) int {
	n := len(s)
	for _, c := range s {
		if c >= 0x80 {
			n += 2
		}
	}
	return n
}

// more skips the bracket or comma before the next element, and reports whether there is one.
func (m *meter) more(end byte) bool {
	c := m.peek()
	m.text = m.text[1:]
	if c == end {
		return false
	}
	if m.peek() == end { // an empty list or object
		m.text = m.text[1:]
		return false
	}
	return true
}

func (m *meter) list(t reflect.Type, depth int) error {
	var of reflect.Type
	size := 0
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array) {
		of = t.Elem()
		size = int(of.Size())
	}
	for m.more(']') {
		if err := m.take(size); err != nil {
			return err
		}
		if err := m.value(of, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *meter) object(t reflect.Type, depth int) error {
	for m.more('}') {
		m.peek()
		of, size := m.member(t, m.string())
		if err := m.take(size); err != nil {
			return err
		}
		m.peek()
		m.text = m.text[1:] // the colon
		if err := m.value(of, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// member returns the type of a member of a JSON object, and the memory in bytes that the member
// needs in addition to the object's own.
func (m *meter) member(t reflect.Type, name []byte) (of reflect.Type, size int) {
	switch {
	case t == nil:
	case t.Kind() == reflect.Map:
		return t.Elem(), mapEntry + int(t.Key().Size()+t.Elem().Size()) + decoded(name)
	case t.Kind() == reflect.Struct:
		fields := m.fieldsOf(t)
		if of, ok := fields[string(name[1:len(name)-1])]; ok {
			return of, 0
		}
		var plain string
		if json.Unmarshal(name, &plain) == nil {
			return fields[fold(plain)], 0
		}
	}
	return nil, 0
}

// fieldsOf returns the types of a struct's fields, keyed by folded name.
func (m *meter) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if v, ok := m.fields[t]; ok {
		return v
	}
	v := map[string]reflect.Type{}
	for i := range t.NumField() {
		tag, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		v[fold(tag)] = t.Field(i).Type
	}
	m.fields[t] = v
	return v
}

// fold returns one spelling for all names that package json treats as equal. Package json treats
// two non-ASCII characters as equal to an ASCII letter: one has the letter's upper case, the other
// the letter's lower case.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
