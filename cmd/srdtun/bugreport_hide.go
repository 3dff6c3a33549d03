package main

import (
	"bytes"
	"maps"
	"net"
	"regexp"
	"slices"
	"unicode"

	"github.com/srdtun/srdtun/internal/keytext"
)

// hidden is the text that replaces a secret.
const hidden = keytext.Hidden

// redact hides words that have the form of a key, except public keys. It is for texts such as logs
// and environments. The secrets in configuration files are hidden by config.Conceal.
func redact(text []byte, public map[string]bool) []byte {
	return []byte(keytext.Hide(string(text), func(key string) bool { return public[key] }))
}

// The output of a hook command may repeat the secrets of its command line in any form. The report
// shows only the exit codes of hook commands, and never their output.
var (
	// saidByCommand matches the event with the output of a successful hook command.
	saidByCommand = regexp.MustCompile(`(?m)\bnote: (\S+): .*$`)
	// saidByFailed matches the error of a failed hook command, with the command's output.
	saidByFailed = regexp.MustCompile(`(?m)((?:pre|post)_(?:up|down): .*?: (?:exit status \d+|signal: [^:\n]+|exec: [^:\n]+|wait[^:\n]*)): .*$`)
)

func withoutOutput(text []byte) []byte {
	text = saidByCommand.ReplaceAll(text, []byte("note: $1: "+hidden))
	return saidByFailed.ReplaceAll(text, []byte("$1: "+hidden))
}

// journalLine matches a line of journalctl(1), which has time, host, program and text.
var journalLine = regexp.MustCompile(`^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \S+ ([^\s:\[]+)(?:\[\d+\])?: `)

// ours matches the programs whose journal lines a report shows: srdtun, systemd and the kernel.
var ours = regexp.MustCompile(`^\(?(?:srdtun|systemd(?:-[a-z]+)?|kernel)\)?$`)

// withoutOthers hides the journal lines of other programs, because the service runs them as hooks.
func withoutOthers(journal []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(journal) {
		m := journalLine.FindSubmatch(line)
		switch {
		case m == nil && !bytes.HasPrefix(line, []byte(" ")), m != nil && ours.Match(m[1]):
			out.Write(line)
		case m == nil: // a continuation of the previous line
			out.WriteString(" " + hidden + "\n")
		default:
			out.Write(m[0])
			out.WriteString(hidden + "\n")
		}
	}
	return out.Bytes()
}

// scrubbed hides the secret words of the configuration in a text, unless they are part of a longer
// word. It keeps names of interfaces, and words that the shown configuration contains.
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

// replaceAlone replaces words that are not part of a longer word, and calls the function found()
// with each of them. Its time depends on the number of different lengths, not on the number of
// words, because a file may have many words.
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

// wordAt returns the length of the longest word in `words` with which the text begins, or 0.
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
