package main

import (
	"errors"
	"strings"

	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/control"
)

// vetted is an error with a peer of the command line that the daemon knows. If it is named by
// its key, that key is public.
type vetted struct{ error }

func (e vetted) Unwrap() error { return e.error }

// leastTyped is the least length of a part of a key that is hidden. A message may have cut the
// word that it repeats.
const leastTyped = 8

// mostTyped bounds the work on a long word.
const mostTyped = 256

// withoutTyped returns an error as one line, without keys of the command line: somebody may
// have typed a secret one where a name belongs. An error of the daemon stays, as it knows which
// keys are public.
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

// keysIn returns the keys in words, also those in groups, and the groups.
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
