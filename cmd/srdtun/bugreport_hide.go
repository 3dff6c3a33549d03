package main

import (
	"bytes"
	"maps"
	"net"
	"regexp"
	"slices"
	"unicode"
)

// secretShape is what may be a key wherever it stands: 40 or more characters of base64 in
// either alphabet, and so 64 of hexadecimal too.
var secretShape = regexp.MustCompile(`[A-Za-z0-9+/]{40,}={0,2}|[A-Za-z0-9_-]{40,}={0,2}`)

// hidden replaces text that is left out.
const hidden = "(hidden)"

// redact takes out what has the shape of a key and is not public. The configuration has gone
// by place before (config.Conceal); this is for what stands elsewhere: in a log, a message,
// an environment.
func redact(text []byte, public map[string]bool) []byte {
	return secretShape.ReplaceAllFunc(text, func(k []byte) []byte {
		if public[string(k)] {
			return k
		}
		return []byte(hidden)
	})
}

// The output of a command may repeat its own command line, in any form. So the report leaves it
// out, wherever it stands, and keeps exit codes only.
var (
	// saidByCommand is the event of a command that went well.
	saidByCommand = regexp.MustCompile(`(?m)\bnote: (\S+): .*$`)
	// saidByFailed is the fault of one that did not (package hooks).
	saidByFailed = regexp.MustCompile(`(?m)((?:pre|post)_(?:up|down): .*?: (?:exit status \d+|signal: [^:\n]+|exec: [^:\n]+|wait[^:\n]*)): .*$`)
)

func withoutOutput(text []byte) []byte {
	text = saidByCommand.ReplaceAll(text, []byte("note: $1: "+hidden))
	return saidByFailed.ReplaceAll(text, []byte("$1: "+hidden))
}

// journalLine is a line of journalctl(1): time, host, program, text.
var journalLine = regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ ([^\s:\[]+)(?:\[\d+\])?: `)

// ours are the programs whose journal lines a report shows: srdtun, and systemd about srdtun.
var ours = regexp.MustCompile(`^\(?(?:srdtun|systemd(?:-[a-z]+)?|kernel)\)?$`)

// withoutOthers hides what other programs have written into the journal of the service: they
// are its commands.
func withoutOthers(journal []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(journal) {
		m := journalLine.FindSubmatch(line)
		switch {
		case m == nil && !bytes.HasPrefix(line, []byte(" ")), m != nil && ours.Match(m[1]):
			out.Write(line)
		case m == nil: // more of the line before
			out.WriteString(" " + hidden + "\n")
		default:
			out.Write(m[0])
			out.WriteString(hidden + "\n")
		}
	}
	return out.Bytes()
}

// scrubbed takes out words that are hidden in the configuration, where they stand alone: but
// those that are shown there too, or are names of interfaces.
func (r *bugReport) scrubbed(text []byte) []byte {
	words := maps.Clone(r.words)
	maps.DeleteFunc(words, func(w string, _ bool) bool { return r.public[w] })
	if list, err := net.Interfaces(); err == nil {
		for _, i := range list {
			delete(words, i.Name)
		}
	}
	replaceAlone([]byte(r.shown), words, func(word string) { delete(words, word) })
	return replaceAlone(text, words, func(string) {})
}

// replaceAlone hides words where they are no part of others, and tells which it has found. It
// takes as long for many words as for few, of the same lengths: a file may have many.
func replaceAlone(text []byte, words map[string]bool, found func(string)) []byte {
	lengths := map[int]bool{}
	for w := range words {
		lengths[len(w)] = true
	}
	longest := slices.SortedFunc(maps.Keys(lengths), func(a, b int) int { return b - a })
	var out []byte
	for at := 0; at < len(text); {
		n := 0
		if !partOfWord(text, at-1) {
			n = wordAt(text[at:], words, longest)
		}
		if n == 0 {
			out = append(out, text[at])
			at++
			continue
		}
		out = append(out, hidden...)
		found(string(text[at : at+n]))
		at += n
	}
	return out
}

// wordAt returns the length of the longest word that a text begins with.
func wordAt(text []byte, words map[string]bool, longest []int) int {
	for _, n := range longest {
		if n <= len(text) && words[string(text[:n])] && !partOfWord(text, n) {
			return n
		}
	}
	return 0
}

func partOfWord(text []byte, i int) bool {
	return i >= 0 && i < len(text) && (unicode.IsLetter(rune(text[i])) || unicode.IsDigit(rune(text[i])))
}
