package control

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode"
)

// What a daemon answers is untrusted: it may have been taken over, or be another program
// that has its name. A client runs as root and writes to a terminal.

const (
	// maxText bounds a text in a status: a path is the longest (PATH_MAX, limits.h).
	maxText = 4096
	// maxError bounds what is told of an error: a list of faults in a file is the longest.
	maxError = 64 << 10
	// maxFault bounds what is told of a reply that is not understood, and may be quoted.
	maxFault = 256
)

// parseReply decodes a reply line. Texts in it are printable.
func parseReply(line []byte) (reply, error) {
	var r reply
	if json.Valid(line) { // else Unmarshal says what is wrong
		if err := checkSize(line, reflect.TypeFor[reply]()); err != nil {
			return reply{}, err
		}
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return reply{}, errors.New(printable(cut(err.Error(), maxFault)))
	}
	// These two may have more than one line. In others a line end could feign what is not.
	whole, text := lines(cut(r.Error, maxError)), lines(r.Config)
	if r.Status != nil {
		clean(reflect.ValueOf(r.Status).Elem(), maxText)
	}
	clean(reflect.ValueOf(&r).Elem(), maxReply)
	r.Error, r.Config = whole, text
	return r, nil
}

// cut ends a text that is longer than so many bytes.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// clean makes all strings in v printable, and cuts those that are longer than most.
func clean(v reflect.Value, most int) {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); len(s) > most || strings.ContainsFunc(s, unprintable) {
			v.SetString(printable(cut(s, most)))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			clean(v.Elem(), most)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				clean(v.Field(i), most)
			}
		}
	case reflect.Slice, reflect.Array:
		if holdsText(v.Type().Elem()) {
			for i := range v.Len() {
				clean(v.Index(i), most)
			}
		}
	case reflect.Map:
		cleanMap(v, most)
	}
}

// cleanMap makes the keys and values of a map printable.
func cleanMap(m reflect.Value, most int) {
	for _, k := range m.MapKeys() {
		value := reflect.New(m.Type().Elem()).Elem()
		value.Set(m.MapIndex(k))
		clean(value, most)
		if k.Kind() == reflect.String && (len(k.String()) > most || strings.ContainsFunc(k.String(), unprintable)) {
			m.SetMapIndex(k, reflect.Value{})
			k = reflect.ValueOf(printable(cut(k.String(), most))).Convert(m.Type().Key())
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
