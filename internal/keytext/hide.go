package keytext

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A user may type a secret key in place of a name. No message may then repeat the key. Only Hide
// decides which texts look like a key. All programs use Hide for errors, events, logs and
// reports.

// Hidden replaces a hidden text.
const Hidden = "(hidden)"

const (
	// longRun is the least number of characters without a gap that count as a key. 32 bytes are 43
	// characters of base64, or 64 hexadecimal digits. The limit is lower, because a key that lost
	// some characters is still a secret.
	longRun = 40
	// keyText is the length of a whole key in base64, which ends with "=".
	keyText = (Bytes + 2) / 3 * 4
	// leastRun is the least number of characters without a gap that count as a part of a key. Below
	// longRun, all of the part must also look random.
	leastRun = 22
	// leastDrawn is the least number of characters in groups that count as a key. It is less than
	// longRun, because the groups at both ends of a key may look like words.
	leastDrawn = 28
	// leastColons replaces leastDrawn for small groups with colons between them, because an IPv6
	// address has up to 32 digits, in groups of four.
	leastColons = 33
	// leastGroup is the least number of characters in a group, unless all groups have the same
	// length.
	leastGroup = 4
	// At least one in leastShare groups must look random; otherwise the groups do not count as a
	// key. A third of random groups of four hexadecimal digits looks like words or numbers. So only
	// one key in 10^6 has 15 of 16 groups that do.
	leastShare = 8
	// leastBytes is the least number of bytes, written as decimal numbers, that count as a part of
	// a key: half of a key.
	leastBytes = Bytes / 2
)

var (
	// runs matches keys, and parts of keys, without gaps and in both alphabets of base64. If a key
	// is the end of a path, the directories belong to the match.
	runs = regexp.MustCompile(`[A-Za-z0-9+/_-]{22,}={0,2}`)
	// parts matches the words of a path or a name.
	parts = regexp.MustCompile(`[^/_-]+`)
	// words matches runs of base64 characters.
	words = regexp.MustCompile(`[A-Za-z0-9+/=]+`)
	// gaps matches the separators of groups. A copied text may have any separator, such as a
	// space of no width. A message may contain a separator in escaped form.
	gaps = regexp.MustCompile(`^[^A-Za-z0-9+/=\n]{1,2}$`)
	// rests matches "(hidden)" together with the base64url text around it, if that is long enough
	// to be a piece of the key.
	rests = regexp.MustCompile(`(?:[A-Za-z0-9_-]{15,}[-_])?\(hidden\)(?:[-_][A-Za-z0-9_-]{15,}=*)?`)
	// wordLike matches words, abbreviations and numbers, and several of them joined together.
	wordLike = regexp.MustCompile(`^(?:[A-Z]?[a-z]*|(?:[A-Z]?[a-z]+|[A-Z]{2,}s?)+|[A-Z]*)[0-9]*$`)
)

// Hide replaces each part of a text that looks like a key. A whole key for which the function
// public() returns true is not replaced. If `public` is nil, Hide replaces all keys.
func Hide(text string, public func(key string) bool) string {
	if len(text) < leastRun {
		return text
	}
	text = runs.ReplaceAllStringFunc(hideGroups(hideBytes(text)), func(run string) string {
		if public != nil && public(run) {
			return run
		}
		return hidePart(hideRun(run))
	})
	return rests.ReplaceAllString(text, Hidden)
}

// quotedBytes bounds the bytes of a quoted word, so that a message stays one readable line.
const quotedBytes = 64

// Quote returns a user's word for a message. Quote hides keys in the word first, and then cuts
// the word.
func Quote(word string) string {
	word = Hide(word, nil)
	if end := quotedBytes; len(word) > end {
		for end > 0 && !utf8.RuneStart(word[end]) {
			end--
		}
		word = word[:end] + "..."
	}
	return strconv.Quote(word)
}

// Drawn reports whether a text looks like a random key.
func Drawn(text string) bool { return Hide(text, nil) != text && !isWord(text) }

// isWord reports whether a text looks written by a person: its words have at least three letters
// on average.
func isWord(text string) bool {
	if !wordLike.MatchString(text) {
		return false
	}
	large, small := 0, 0
	for _, c := range []byte(text) {
		switch {
		case 'A' <= c && c <= 'Z':
			large++
		case 'a' <= c && c <= 'z':
			small++
		}
	}
	return large <= 1 || small == 0 || 3*large <= large+small
}

var (
	// tokens matches numbers and words.
	tokens = regexp.MustCompile(`[A-Za-z0-9]+`)
	// commas matches the separators of bytes in decimal, also with quotes and signs.
	commas = regexp.MustCompile(`^[^A-Za-z0-9\n]{1,8}$`)
	blanks = strings.NewReplacer(" ", "", "\t", "", "-", "")
)

// hideBytes hides rows of numbers that may be the bytes of a key.
func hideBytes(text string) string {
	var out strings.Builder
	shown := 0
	for all := tokens.FindAllStringIndex(text, -1); len(all) >= leastBytes; {
		n, falls := byteRow(text, all)
		if n >= leastBytes && leastShare*falls >= n {
			out.WriteString(text[shown:all[0][0]] + Hidden)
			shown = all[n-1][1]
		}
		all = all[max(1, n-1):] // the last token may be the first one of another row
	}
	return out.String() + text[shown:]
}

// byteRow returns how many tokens, from the first, are bytes with the same separator. The result
// `falls` is the number of bytes that are smaller than the previous one. This is so for half of
// random bytes, but for no number in an ascending list, such as one of processors.
func byteRow(text string, all [][]int) (n, falls int) {
	gap, last := "", uint64(0)
	for i, w := range all {
		b, err := strconv.ParseUint(text[w[0]:w[1]], 10, 8)
		if err != nil || w[1]-w[0] > len("255") {
			return i, falls
		}
		if i > 0 {
			between := text[all[i-1][1]:w[0]]
			now := blanks.Replace(between)
			if !commas.MatchString(between) || i > 1 && now != gap {
				return i, falls
			}
			gap = now
		}
		if b < last {
			falls++
		}
		last = b
	}
	return len(all), falls
}

// hideRun hides a long run, unless the run is a path or a name of several words. A key within a
// path or name is hidden, too.
func hideRun(run string) string {
	if len(run) < longRun {
		return run
	}
	if at := len(run) - keyText; at >= 0 && run[len(run)-1] == '=' && (at == 0 || parts.FindString(run[at-1:at]) == "") {
		return run[:at] + Hidden // the text has the length of a key and ends like one
	}
	if parts.FindString(run) == run || mixed(run, 5) {
		return Hidden
	}
	return hideRow(run, func(row string, drawn int) bool { return len(row) >= leastDrawn && 2*drawn >= len(row) })
}

// hidePart hides a run that may be a part of a key.
func hidePart(run string) string {
	if mixed(run, 5) {
		return Hidden
	}
	return hideRow(run, func(row string, _ int) bool { return len(row) >= leastRun && mixed(row, 4) })
}

// hideRow hides the part of a run from its first to its last random-looking word (the row), if
// the function isKey() accepts the row. The argument `drawn` of isKey() is the number of
// characters in random-looking words.
func hideRow(run string, isKey func(row string, drawn int) bool) string {
	all := parts.FindAllStringIndex(run, -1)
	size := func(i int) int { return all[i][1] - all[i][0] }
	first, last, drawn := len(all), -1, 0
	for i, p := range all {
		if !isWord(run[p[0]:p[1]]) || size(i) >= longRun {
			first, last, drawn = min(first, i), i, drawn+size(i)
		}
	}
	if last < 0 || !isKey(run[all[first][0]:all[last][1]], drawn) {
		return run
	}
	return run[:all[first][0]] + Hidden + run[all[last][1]:]
}

// mixed reports whether the class of characters (small letters, capitals, others) changes as
// often as in a random text. In a random text it changes after three of five characters on
// average, and in a name of several words about twice a word. The function mixed requires a
// change after at least `tenths`/10 of the characters, and some characters that are no letters.
func mixed(text string, tenths int) bool {
	changes, small, large, other := 0, 0, 0, 0
	var last int
	for i, c := range []byte(text) {
		class := 0
		switch {
		case 'a' <= c && c <= 'z':
			class, small = 1, small+1
		case 'A' <= c && c <= 'Z':
			class, large = 2, large+1
		case c != '/' && c != '-' && c != '_':
			other++
		}
		if i > 0 && class != last {
			changes++
		}
		last = class
	}
	return small >= 3 && large >= 3 && other > 0 && 10*changes >= tenths*len(text)
}

// group is a word that may be one group of a key typed in groups.
type group struct {
	start, end int
	drawn      bool // the word looks random
	path       bool // the word begins like a path
}

func groupsOf(text string) []group {
	at := words.FindAllStringIndex(text, -1)
	all := make([]group, len(at))
	for i, w := range at {
		all[i] = group{start: w[0], end: w[1], path: text[w[0]] == '/'}
		for _, part := range strings.FieldsFunc(text[w[0]:w[1]], func(r rune) bool { return strings.ContainsRune("/=", r) }) {
			all[i].drawn = all[i].drawn || !isWord(part)
		}
	}
	return all
}

func (g group) len() int { return g.end - g.start }

// long reports whether a group is longer than usual words.
func (g group) long() bool { return !g.path && g.len() >= LeastPiece }

// hideGroups hides keys that were typed in groups, with the same separator between the groups.
func hideGroups(text string) string {
	var out strings.Builder
	shown := 0
	for all := groupsOf(text); len(all) > 0; {
		n := chain(text, all)
		if isKey(text, all[:n]) {
			out.WriteString(text[shown:all[0].start] + Hidden)
			shown = all[n-1].end
		} else {
			n = max(1, n-1) // the last word may be the first group of a key
		}
		all = all[n:]
	}
	return out.String() + text[shown:]
}

// chain returns how many words, from the first on, may be groups of one key.
func chain(text string, all []group) int {
	if len(all) < 2 {
		return 1
	}
	// Directories in front of the first group are no part of the group.
	if n := all[1].len(); all[0].len() > n && strings.IndexByte("/=", text[all[0].end-n-1]) >= 0 {
		all[0].start = all[0].end - n
	}
	for i := 1; i < len(all); i++ {
		gap := text[all[i-1].end:all[i].start]
		fits := all[i-1].joins(all[i], gap) && (i > 1 || all[0].drawn || all[0].len() == all[1].len() || all[0].long())
		if !fits || !gaps.MatchString(gap) || i > 1 && !sameGap(gap, text[all[0].end:all[1].start]) {
			return i
		}
	}
	return len(all)
}

// joins reports whether `next` may be the group of the key after the group g. By chance, some
// random groups look like words. So a group need not look random if it has the same length as g,
// or if both are longer than usual words. Unequal groups with - or _ between them may be a
// single word of base64url, which hideRun handles as a whole.
func (g group) joins(next group, gap string) bool {
	switch {
	case g.len() >= longRun || next.len() >= longRun:
		return false
	case g.len() == next.len() || g.long() && next.long():
		return true
	}
	return next.drawn && next.len() >= leastGroup && g.len() >= leastGroup && !strings.ContainsAny(gap, "-_")
}

// sameGap reports whether two separators are equal apart from blanks.
func sameGap(a, b string) bool { return strings.Trim(a, " \t") == strings.Trim(b, " \t") }

// isKey reports whether the words of a chain are long enough for a key, and look random.
func isKey(text string, all []group) bool {
	if len(all) < 2 {
		return false
	}
	least, drawn, joined := leastDrawn, 0, ""
	if all[0].len() <= leastGroup && strings.Contains(text[all[0].end:all[1].start], ":") {
		least = leastColons
	}
	for _, g := range all {
		joined += text[g.start:g.end]
		if g.drawn {
			drawn++
		}
	}
	if len(joined) < least {
		return false
	}
	if all[0].len() < leastGroup { // the groups are too short to look like words
		return !isWord(joined)
	}
	return leastShare*drawn >= len(all) || mixed(joined, 4)
}
