package config

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// shownBytes bounds the part of a wrong value that an error shows, so that the error stays one
// readable line.
const shownBytes = 64

// Error describes one fault in a configuration. An Error never contains a secret.
type Error struct {
	File string
	Line int    // 1 for the first line; 0 if the fault is in no line
	Key  string // such as "peer.endpoints"; empty if the fault is not in a key
	Msg  string
	Peer string // name or public key of the peer that a doubt is about

	cause error // error of reading a file, or nil
}

// Error returns one line with the file, the line number, the key and the fault.
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

// Where returns the key in the form of a Setting, such as "peer.NAME.endpoints".
func (e *Error) Where() string {
	if key, ok := strings.CutPrefix(e.Key, "peer."); ok && e.Peer != "" {
		return "peer." + e.Peer + "." + key
	}
	return e.Key
}

// WithoutFile returns one line with key and fault, for a value that is in no file.
func (e *Error) WithoutFile() string { return oneLine(e.Where() + ": " + e.Msg) }

// Unwrap returns the file error that caused the fault, so that errors.Is recognises
// fs.ErrNotExist and fs.ErrPermission. If no file error caused the fault, Unwrap returns nil.
func (e *Error) Unwrap() error { return e.cause }

// oneLine replaces line breaks and control characters, which file names and keys may contain.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '?'
	}, s)
}

// quoted returns a value in quotes, for an error. It hides parts that look like secrets, because a
// misplaced value may be a secret.
func quoted(s string) string { return strconv.Quote(clipped(untangled(s, false))) }

// clipped returns the beginning of a text, cut between characters.
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
