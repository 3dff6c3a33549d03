package control

import (
	"encoding/json"
	"reflect"
	"strings"
	"unicode"
)

// What a daemon answers is untrusted: it may have been taken over, or be another program
// that has its name. A client runs as root and writes to a terminal.

// parseReply decodes a reply line. Texts in it are printable.
func parseReply(line []byte) (reply, error) {
	var r reply
	if json.Valid(line) { // else Unmarshal says what is wrong
		if err := checkSize(line, reflect.TypeFor[reply]()); err != nil {
			return reply{}, err
		}
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return reply{}, err
	}
	// These two may have more than one line. In others a line end could feign what is not.
	whole, text := lines(r.Error), lines(r.Config)
	clean(reflect.ValueOf(&r).Elem())
	r.Error, r.Config = whole, text
	return r, nil
}

// clean makes all strings in v printable.
func clean(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); strings.ContainsFunc(s, unprintable) {
			v.SetString(printable(s))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			clean(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				clean(v.Field(i))
			}
		}
	case reflect.Slice, reflect.Array:
		if holdsText(v.Type().Elem()) {
			for i := range v.Len() {
				clean(v.Index(i))
			}
		}
	case reflect.Map:
		cleanMap(v)
	}
}

// cleanMap makes the keys and values of a map printable.
func cleanMap(m reflect.Value) {
	for _, k := range m.MapKeys() {
		value := reflect.New(m.Type().Elem()).Elem()
		value.Set(m.MapIndex(k))
		clean(value)
		if k.Kind() == reflect.String && strings.ContainsFunc(k.String(), unprintable) {
			m.SetMapIndex(k, reflect.Value{})
			k = reflect.ValueOf(printable(k.String())).Convert(m.Type().Key())
		}
		m.SetMapIndex(k, value)
	}
}

// holdsText spares lists of numbers a visit of each.
func holdsText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}

// unprintable are control bytes, and what changes the direction of a line.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func printable(s string) string { return without(s, unprintable) }

// lines is printable for a text of several lines.
func lines(s string) string {
	return without(s, func(r rune) bool { return r != '\n' && r != '\t' && unprintable(r) })
}

func without(s string, bad func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if bad(r) {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}
