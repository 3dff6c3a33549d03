package config

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shownBytes bounds how much of a wrong value an error repeats, so that the error
// stays one readable line.
const shownBytes = 64

// Error is one fault of a configuration. It never holds a secret.
type Error struct {
	File string
	Line int    // 1 for the first line; 0 when the fault is in no line of the file
	Key  string // such as "peer.endpoints"; empty when no key is at fault
	Msg  string

	cause error // a failed read of a file, or nil
}

// Error is one line: file, line, key and what is wrong.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.File)
	if e.Line > 0 {
		b.WriteString(":" + strconv.Itoa(e.Line))
	}
	if e.Key != "" {
		b.WriteString(": " + e.Key)
	}
	b.WriteString(": " + e.Msg)
	return oneLine(b.String())
}

// Unwrap gives the failed read behind the fault, so that errors.Is knows
// fs.ErrNotExist and fs.ErrPermission. It is nil for everything else.
func (e *Error) Unwrap() error { return e.cause }

// oneLine replaces what would break a line or steer a terminal: file names and
// keys may contain anything.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// quoted is a value from the file as an error shows it: a slip may have put a secret there.
func quoted(s string) string { return strconv.Quote(clipped(untangled(s, false))) }

// clipped is the beginning of a text, cut between two characters.
func clipped(s string) string {
	if len(s) <= shownBytes {
		return s
	}
	end := shownBytes
	for end > 0 && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "..."
}
