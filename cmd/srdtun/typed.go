package main

import (
	"errors"
	"strings"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/control"
)

// vetted is an error about a peer on the command line that the running daemon knows. The key of a
// known peer is public, so the error may contain it.
type vetted struct{ error }

func (e vetted) Unwrap() error { return e.error }

// leastTyped is the minimum length, in characters, of a part of a key that is hidden. Parts must be
// hidden because a message may contain only a part of a word on the command line.
const leastTyped = 8

// mostTyped bounds the length of hidden parts in characters, and so the time for a long word.
const mostTyped = 256

// withoutTyped returns an error as one line with its advice, without the keys on the command line, because one of
// them may be a misplaced secret. It does not change an error from the daemon, because the daemon
// itself hides secret keys.
func withoutTyped(err error, args []string) string {
	text := oneLine(err) + sudoHint(err)
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

// keysIn returns the keys in `words`. It also finds a key that is divided into groups of
// characters, and returns the groups too.
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
