package control

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"unicode"
)

// The client treats a daemon's reply as untrusted. An attacker may have taken over the daemon, or
// another program may listen in the daemon's place. The client may run as root, and writes to a
// terminal.

const (
	// maxText bounds a text in a status, in bytes. The longest text is the path of a file
	// (PATH_MAX, limits.h).
	maxText = 4096
	// maxError bounds the text of an error, in bytes. The longest error is a list of faults in a
	// file.
	maxError = 64 << 10
	// maxFault bounds the message about an invalid reply in bytes, because the message may quote
	// the reply.
	maxFault = 256
)

// answers reports whether a reply has the results of the given operation. If the results are
// missing, a program other than srdtun has replied.
func (r *reply) answers(op string) bool {
	switch op {
	case opShow:
		return r.Status != nil && r.Status.Schema > 0
	case opVersion:
		return r.Version != ""
	case opConfig:
		return r.Config != ""
	case opEvents:
		return r.Happened != nil && r.Happened.Run != ""
	case opFlows:
		return r.Flows != nil && r.Flows.Schema > 0
	case opPing:
		return r.Pings != nil && r.Pings.Schema > 0
	case opChange:
		return r.Done || r.Changed != nil
	case opDown:
		return r.Done
	}
	// opRestarting is sent before an upgrade. The running daemon may be of a version that does not
	// set the field Done.
	return true
}

// parseReply decodes a reply line, and makes all its texts printable.
func parseReply(line []byte) (reply, error) {
	var r reply
	if json.Valid(line) { // else Unmarshal reports the error
		if err := checkSize(line, reflect.TypeFor[reply]()); err != nil {
			return reply{}, err
		}
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return reply{}, errors.New(printable(cut(err.Error(), maxFault)))
	}
	// Only an error and a configuration may have several lines. In any other text, a line end could
	// fake a further line of the command's output.
	whole, text := lines(cut(r.Error, maxError)), lines(r.Config)
	if r.Status != nil {
		clean(reflect.ValueOf(r.Status).Elem(), maxText)
	}
	clean(reflect.ValueOf(&r).Elem(), maxReply)
	r.Error, r.Config = whole, text
	return r, nil
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}

// clean makes all strings in v printable, and cuts strings longer than `most` bytes.
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

// holdsText reports whether a value of type t may contain a string; the function clean() skips
// lists of numbers.
func holdsText(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.String, reflect.Pointer, reflect.Struct, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}

// unprintable reports whether r is a control character, or changes the writing direction of a line.
func unprintable(r rune) bool { return !unicode.IsPrint(r) }

func printable(s string) string { return without(s, unprintable) }

// lines makes a text printable, but keeps line ends and tabs.
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
