package control

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
)

// A reply of a few bytes can be large in memory: a null takes five bytes in a list of peers,
// and a thousand when it is decoded. So its size in memory is reckoned first.

const (
	// growth is how many bytes a byte of a reply may take in memory. In ours the names of the
	// fields are longer than their values; a prefix, which has none, takes twice its text.
	growth = 3
	// freeBytes may be used by any reply, however short.
	freeBytes = 1 << 20
	// mapEntry is what an entry of a map takes beside its key and value.
	mapEntry = 16
	// maxNesting bounds objects and lists in each other: ours have seven levels.
	maxNesting = 16
)

var (
	errSize    = errors.New("it would take more memory than its length allows")
	errNesting = errors.New("its values are nested too deep")
)

// checkSize reports why a text, which is valid JSON, is not to be decoded as a t.
func checkSize(text []byte, t reflect.Type) error {
	m := meter{text: text, left: freeBytes + growth*len(text), fields: map[reflect.Type]map[string]reflect.Type{}}
	return m.value(t, 0)
}

// meter reads a text and subtracts what each value in it takes in memory.
type meter struct {
	text   []byte // what is not read yet
	left   int
	fields map[reflect.Type]map[string]reflect.Type // of each struct, by folded name
}

func (m *meter) take(n int) error {
	if m.left -= n; m.left < 0 {
		return errSize
	}
	return nil
}

// peek returns the next character that is no space.
func (m *meter) peek() byte {
	i := 0
	for strings.IndexByte(" \t\r\n", m.text[i]) >= 0 {
		i++
	}
	m.text = m.text[i:]
	return m.text[0]
}

// value reads a value that is decoded as a t, whose own bytes are taken already. t is nil in
// what nobody decodes.
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
	i := 0 // a number or a word ends where something else begins
	for i < len(m.text) && strings.IndexByte(",]} \t\r\n", m.text[i]) < 0 {
		i++
	}
	m.text = m.text[i:]
	return nil
}

// string reads a string and returns it with its quotes.
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

// decoded bounds the bytes of a string without its escapes: each byte that is no UTF-8
// becomes a character of three.
func decoded(s []byte) int {
	n := len(s)
	for _, c := range s {
		if c >= 0x80 {
			n += 2
		}
	}
	return n
}

// more steps over the bracket or comma in front of the next element, or over the end.
func (m *meter) more(end byte) bool {
	c := m.peek()
	m.text = m.text[1:]
	if c == end {
		return false
	}
	if m.peek() == end { // an empty one
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

// member returns what a member of an object is decoded as, and what it takes beside the bytes
// of the object.
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

// fieldsOf returns the types of a struct's fields by their folded names.
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

// fold is one of the spellings that package json takes for the same name: two characters that
// are no ASCII have a counterpart there, by their upper and by their lower case.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
