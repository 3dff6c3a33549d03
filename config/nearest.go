package config

import "strings"

// comparedBytes bounds the length of an unknown key in comparisons, and so their time. Known keys
// are at most a third as long.
const comparedBytes = 64

// nearest returns the known key with the smallest edit distance to `key`. The list `known` must
// not be empty.
func nearest(key string, known []string) string {
	key = plain(key)
	best, bestEdits := known[0], edits(key, plain(known[0]))
	for _, candidate := range known[1:] {
		if n := edits(key, plain(candidate)); n < bestEdits {
			best, bestEdits = candidate, n
		}
	}
	return best
}

// Near returns the known word that the user probably meant. The result differs from `word` by at
// most a third of its letters, or by one letter. The list `known` may be empty.
func Near(word string, known []string) (string, bool) {
	if len(known) == 0 {
		return "", false
	}
	near := nearest(word, known)
	return near, edits(plain(word), plain(near)) <= max(1, len(plain(word))/3)
}

// plain removes differences of style, so that PrivateKey in a WireGuard file equals private_key.
func plain(key string) string {
	if len(key) > comparedBytes {
		key = key[:comparedBytes]
	}
	return strings.NewReplacer("_", "", "-", "", " ", "").Replace(strings.ToLower(key))
}

// edits returns the Levenshtein distance in bytes, with a swap of two neighbours as one edit
// (Damerau's optimal string alignment).
func edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+differs(a[i-1], b[j-1]))
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

func differs(a, b byte) int {
	if a == b {
		return 0
	}
	return 1
}
