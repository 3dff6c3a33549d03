package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"github.com/srdtun/srdtun/internal/keytext"
)

// MaxFileBytes bounds a configuration file. A peer takes 100 to 250 bytes, so maxPeers
// fit.
const MaxFileBytes = 1 << 20

// foreign matches a line of wg(8)'s configuration that TOML forbids: its base64 key is
// not quoted. wg(8) ignores case.
var foreign = regexp.MustCompile(`(?im)^[ \t]*(private|public|preshared)key[ \t]*=[ \t]*[a-z0-9+/]`)

const looksForeign = `looks like a wg(8) file; "srdtun import FILE" makes one for srdtun of it`

// decode checks the syntax of a document and returns its root.
func decode(file string, data []byte) (section, error) {
	if len(data) > MaxFileBytes {
		return section{}, &Error{File: file, Msg: fmt.Sprintf("the file has more than %d bytes", MaxFileBytes)}
	}
	text := strings.TrimPrefix(string(data), "\ufeff") // Windows editors write a byte order mark
	doc := &document{file: file, lines: newLineIndex(text)}
	if bad := firstInvalid(text); bad >= 0 {
		doc.fail(bad, "", nil, "the file is not UTF-8 text")
		return section{}, doc.first()
	}
	if bad := firstControl(text); bad >= 0 {
		doc.fail(bad, "", nil, fmt.Sprintf("not valid TOML: the control character 0x%02x", text[bad]))
		return section{}, doc.first()
	}
	found := locate(text)
	if found.deep >= 0 {
		doc.fail(found.deep, "", nil, fmt.Sprintf("nested deeper than %d", maxDepth))
		return section{}, doc.first()
	}
	vals, err := decodeTOML(text)
	if at := foreign.FindStringIndex(text); at != nil && (found.twice.off >= 0 || err != nil) {
		doc.fail(at[0], "", nil, looksForeign)
		return section{}, doc.first()
	}
	if found.twice.off >= 0 {
		what := "the key is in this section already"
		if found.twice.header {
			what = "the section is there already"
		}
		doc.fail(found.twice.off, found.twice.name, nil, fmt.Sprintf("%s, in line %d", what, doc.lines.line(found.twice.first)))
	} else if err != nil {
		doc.failSyntax(text, err)
	}
	return section{doc: doc, vals: vals, at: found.root}, doc.first()
}

// firstInvalid returns the offset of the first byte that is not UTF-8, or -1.
func firstInvalid(s string) int {
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				return i
			}
		}
	}
	return -1
}

// firstControl returns the offset of the first control character except tabs and line
// ends, or -1. The decoder refuses these characters too, but it reports the line where
// the surrounding text begins.
func firstControl(s string) int {
	for i := range len(s) {
		switch c := s[i]; {
		case c == '\t' || c == '\n':
		case c == '\r' && strings.HasPrefix(s[i+1:], "\n"):
		case c < ' ' || c == 0x7f:
			return i
		}
	}
	return -1
}

// decodeTOML turns a panic of the decoder into an error, so that a reload cannot end
// the daemon. The decoder reports its own faults by a panic.
func decodeTOML(text string) (vals map[string]any, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the TOML decoder cannot read this file")
		}
	}()
	_, err = toml.Decode(text, &vals)
	return vals, err
}

// failSyntax records an error of the decoder.
func (d *document) failSyntax(text string, err error) {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		d.fail(len(text), "", nil, redacted(err.Error()))
		return
	}
	// The line comes from the decoder's offset: its line number is one too small for some faults at
	// the end of a file. For a fault inside a multi-line string, the reported line is the one where
	// the string begins.
	off := min(max(parse.Position.Start, 0), len(text))
	key, msg := withoutStray(parse.LastKey), unquoted(parse.Message)
	if line := d.textOf(text, d.lines.line(off)); holdsSecret(line) || holdsSecret(key) {
		msg = "want a string in quotes on one line"
	}
	d.fail(off, key, nil, "not valid TOML: "+msg)
}

// quotation matches a part of the file that the decoder repeats.
var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|Key '.*'|'[^']*'|[0-9]{6,}`)

// unquoted hides quotations in a message, except single characters and harmless words.
// The fault may be in a secret or a command, and the line does not always show that.
func unquoted(msg string) string {
	return redacted(quotation.ReplaceAllStringFunc(msg, func(q string) string {
		text := strings.Trim(strings.TrimPrefix(q, "Key "), `"'`)
		if utf8.RuneCountInString(text) <= 1 || strings.HasPrefix(text, `\`) && len(text) <= len(`\u2029`) || harmlessWord(text) {
			return q
		}
		last := text[strings.LastIndexByte(text, '.')+1:]
		if _, known := keyNamed(last); known || knownSection(text) {
			return q
		}
		return hidden
	}))
}

// withoutStray removes the last part of a dotted key if no section has such a key. That
// part may be a secret on a line without its key.
func withoutStray(key string) string {
	dot := strings.LastIndexByte(key, '.')
	for _, s := range schema {
		if slices.Contains(s.names(), key[dot+1:]) {
			return key
		}
	}
	return key[:max(dot, 0)]
}

// textOf returns the text of one line.
func (d *document) textOf(text string, line int) string {
	start, end := 0, len(text)
	if line > 1 {
		start = d.lines[line-2] + 1
	}
	if line <= len(d.lines) {
		end = d.lines[line-1]
	}
	return text[start:end]
}

// secretLike matches a part of a key in base64: a run that is longer than any word of the
// decoder's messages.
var secretLike = regexp.MustCompile(`[A-Za-z0-9+/=]{16,}`)

// holdsSecret reports whether a key or a line has a value that no error may contain.
func holdsSecret(s string) bool {
	p := plain(s)
	return keytext.Shape.MatchString(s) || strings.Contains(p, "privatekey") || strings.Contains(p, "presharedkey")
}

// redacted hides possible secrets and parts of them; a long number is none.
func redacted(msg string) string {
	return secretLike.ReplaceAllStringFunc(keytext.Hide(msg, nil), func(run string) string {
		if allNumeric(run) {
			return run
		}
		return hidden
	})
}
