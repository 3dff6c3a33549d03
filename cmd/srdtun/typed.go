package main

import (
	"errors"
	"strings"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/control"
)

// vetted is an error about a command-line peer that the running daemon has. A key that names a
// known peer is public, so the error may show it.
type vetted struct{ error }

func (e vetted) Unwrap() error { return e.error }

// leastTyped is the minimum length, in characters, of a hidden part of a key. A message may
// contain only a part of a word of the command line.
const leastTyped = 8

// mostTyped bounds the length of hidden parts in characters, and so the work on a long word.
const mostTyped = 256

// withoutTyped returns an error as one line, without the keys of the command line, because one
// may be a mistyped secret. withoutTyped keeps an error of the daemon, because the daemon hides
// secret keys itself.
func withoutTyped(err error, args []string) string {
	text := oneLine(err)
	var daemon *control.Refusal
	var known vetted
	if errors.As(err, &daemon) || errors.As(err, &known) {
		return text
	}
	keys := keysIn(args)
	if keys == nil {
		keys = keysIn([]string{strings.Join(args, " ")})
	}
	for _, key := range keys {
		for n := min(len(key), mostTyped); n >= leastTyped; n-- {
			text = strings.ReplaceAll(text, key[:n], hidden)
			text = strings.ReplaceAll(text, key[len(key)-n:], hidden)
		}
	}
	return text
}

// keysIn returns the keys in `words`, including keys in groups of characters, and the groups.
func keysIn(words []string) (keys []string) {
	for _, w := range words {
		shown := keytext.Hide(w, nil)
		start, end := strings.Index(shown, hidden), strings.LastIndex(shown, hidden)+len(hidden)
		if shown == w || start < 0 {
			continue
		}
		key := w[start : len(w)-(len(shown)-end)]
		keys = append(append(keys, key), strings.Fields(key)...)
	}
	return keys
}
