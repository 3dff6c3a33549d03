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

// MaxFileBytes bounds the size of a configuration file in bytes. A peer takes 100 to 250 bytes,
// so a file can hold maxPeers peers.
const MaxFileBytes = 1 << 20

// foreign matches a line of a wg(8) configuration with a key, which is not valid TOML, because the
// key is not quoted. It ignores case, as wg(8) does.
var foreign = regexp.MustCompile(`(?im)^[ \t]*(private|public|preshared)key[ \t]*=[ \t]*[a-z0-9+/]`)

const looksForeign = `looks like a wg(8) file; "srdtun import FILE" makes one for srdtun of it`

// withoutMark returns the text of a file without the byte order mark that Windows editors write.
func withoutMark(data []byte) string { return strings.TrimPrefix(string(data), "\ufeff") }

// decode parses the syntax of a document, and returns its root section. The caller bounds the size:
// a running configuration with the peers of drop-in files is longer than any file.
func decode(file string, data []byte) (section, error) {
	text := withoutMark(data)
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

// firstInvalid returns the offset of the first byte that is invalid UTF-8, or -1.
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

// firstControl returns the offset of the first control character other than tab and line end, or
// -1. The decoder refuses control characters too, but reports the line where the surrounding string
// or comment begins.
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

// decodeTOML converts a panic of the decoder into an error, so that a reload cannot crash the
// daemon. The decoder reports even its ordinary errors by a panic.
func decodeTOML(text string) (vals map[string]any, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("the TOML decoder cannot read this file")
		}
	}()
	_, err = toml.Decode(text, &vals)
	return vals, err
}

// failSyntax records a syntax error of the decoder.
func (d *document) failSyntax(text string, err error) {
	var parse toml.ParseError
	if !errors.As(err, &parse) {
		d.fail(len(text), "", nil, redacted(err.Error()))
		return
	}
	// The line number is computed from the decoder's offset, because the decoder's own line number
	// is one too small at the end of a file. For a fault in a multi-line string, it is the line
	// where the string begins.
	off := min(max(parse.Position.Start, 0), len(text))
	key, msg := withoutStray(parse.LastKey), unquoted(parse.Message)
	if line := d.textOf(text, d.lines.line(off)); holdsSecret(line) || holdsSecret(key) {
		msg = "want a string in quotes on one line"
	} else if v := scalarAt(text, off); d.lines.line(v.off) == d.lines.line(off) && v.advice() != "" {
		off, key, msg = v.off, v.key, v.advice()
	}
	d.fail(off, key, nil, "not valid TOML: "+msg)
}

// quotation matches text that a message of the decoder quotes from the file.
var quotation = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|Key '.*'|'[^']*'|[0-9]{6,}`)

// unquoted hides quotations in a message, except for single characters and harmless words. The
// fault may be in a secret or a command, which the line alone may not show.
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

// withoutStray removes the last part of a dotted key if no section has a key of that name. The
// last part may be a secret on a line without its key.
func withoutStray(key string) string {
	dot := strings.LastIndexByte(key, '.')
	for _, s := range schema {
		if slices.Contains(s.names(), key[dot+1:]) {
			return key
		}
	}
	return key[:max(dot, 0)]
}

// textOf returns the text of a line in the document.
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

// secretLike matches a part of a base64 key: a run longer than any word in the decoder's
// messages.
var secretLike = regexp.MustCompile(`[A-Za-z0-9+/=]{16,}`)

// holdsSecret reports whether the value of a key or line must not appear in an error.
func holdsSecret(s string) bool {
	p := plain(s)
	return keytext.Shape.MatchString(s) || strings.Contains(p, "privatekey") || strings.Contains(p, "presharedkey")
}

// redacted hides runs of characters that may be secrets or parts of secrets, but keeps long
// numbers.
func redacted(msg string) string {
	return secretLike.ReplaceAllStringFunc(keytext.Hide(msg, nil), func(run string) string {
		if allNumeric(run) {
			return run
		}
		return hidden
	})
}
