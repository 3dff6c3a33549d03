package config

import (
	"net"
	"regexp"
	"strings"
	"unicode"
)

// A text that is hidden where it stands may be repeated elsewhere: in a fault, in a log, in
// what a command has set up. There its secrets are to be hidden too, but not its ordinary
// words: a command like ["logger", "tunnel", "started"] would blacken a whole report.

// leastWord is how long a word must be to be hidden elsewhere too: shorter ones are part of
// everything, in characters.
const leastWord = 3

// wholeWords returns all words of a secret's value, and the parts of each.
func wholeWords(text string) (words []string) {
	for _, w := range append(fields(text), strings.FieldsFunc(text, notAlphanumeric)...) {
		if long(w) {
			words = append(words, w)
		}
	}
	return words
}

// secretWords returns the words of a hidden text, and the parts of words, that are secrets by
// their place (behind "user:", before "@host", behind "token=" or "--password") or look drawn.
func secretWords(text string) (words []string) {
	add := func(w string, secret bool) {
		if w = strings.Trim(w, ".;"); long(w) && (secret || looksMade(w)) {
			words = append(words, w)
		}
	}
	told := false // the word before names a secret
	for _, w := range fields(text) {
		if harmlessWord(w) {
			told = false
			continue
		}
		add(w, told)
		secretParts(w, add)
		told = namesSecret.MatchString(strings.TrimRight(w, ":="))
	}
	return words
}

// secretParts looks at what stands between the signs of an address or an assignment.
func secretParts(word string, add func(part string, secret bool)) {
	if _, rest, url := strings.Cut(word, "://"); url {
		word = rest
		if who, rest, named := strings.Cut(word, "@"); named && !strings.Contains(who, "/") {
			add(who, true)
			word = rest
			if _, password, both := strings.Cut(who, ":"); both {
				add(password, true)
			}
		}
	}
	name, sign := "", byte(0)
	for word != "" {
		end := strings.IndexAny(word, "=:/@,?&;|")
		part := word
		if end >= 0 {
			part = word[:end]
		}
		add(part, sign == ':' || sign == '=' && namesSecret.MatchString(name))
		if end < 0 {
			return
		}
		name, sign, word = part, word[end], word[end+1:]
	}
}

// namesSecret is a word before a secret: an option, a variable, a header.
var namesSecret = regexp.MustCompile(`(?i)^[a-z0-9_-]*(?:passw|passphrase|pwd|secret|token|key|auth|cred|psk|bearer|basic|cookie)[a-z0-9_-]*$`)

// long reports whether a word can be told from others, and is none that stands everywhere.
func long(word string) bool {
	if _, known := keyNamed(word); known || len(word) < leastWord || harmlessWord(word) {
		return false
	}
	_, err := net.ParseMAC(word)
	return err != nil && word != hidden
}

// leastMade is how long a word must be to look drawn: "eth0" and "IPv4" are shorter.
const leastMade = 5

// looksMade reports whether a word is none of a language: letters and digits mixed, or small
// letters and large ones.
func looksMade(word string) bool {
	if len(word) < leastMade || strings.HasPrefix(word, "-") {
		return false
	}
	var digits, small, large bool
	for i, r := range word {
		digits = digits || unicode.IsDigit(r)
		small = small || unicode.IsLower(r)
		large = large || i > 0 && unicode.IsUpper(r)
	}
	return digits && (small || large) || small && large
}

// fields are the words of a line.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\"',[]{}", r) })
}

func notAlphanumeric(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
