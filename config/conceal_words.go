package config

import (
	"net"
	"regexp"
	"strings"
	"unicode"
)

// A hidden text may also appear elsewhere: in an error, in a log, or in a route that a
// command made. Its secrets must be hidden there too, but not its ordinary words. Otherwise a
// command like ["logger", "tunnel", "started"] would hide common words in the whole report.

// leastWord is the minimum length, in bytes, of a word that is hidden elsewhere. Shorter
// words are part of many harmless texts.
const leastWord = 3

// wholeWords returns all words of a secret's value, and their parts.
func wholeWords(text string) (words []string) {
	for _, w := range append(fields(text), strings.FieldsFunc(text, notAlphanumeric)...) {
		if long(w) {
			words = append(words, w)
		}
	}
	return words
}

// SecretKeys returns the keys that stand where a secret belongs, in a text that may be broken.
func SecretKeys(text string) (keys []Secret) {
	for line := range strings.Lines(text) {
		m := keyLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || !namesSecret.MatchString(m[2]) || plain(m[2]) == "publickey" {
			continue
		}
		for _, w := range fields(m[3]) {
			if s, err := ParseSecret(w); err == nil {
				keys = append(keys, s)
			}
		}
	}
	return keys
}

// SecretValues returns the words at the place of a private or preshared key, in a text that may be
// broken. A key that lost some characters is still a secret.
func SecretValues(text string) (words []string) {
	for line := range strings.Lines(text) {
		m := keyLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || edits(plain(m[2]), "privatekey") > slips && edits(plain(m[2]), "presharedkey") > slips {
			continue
		}
		words = append(words, fields(m[3])...)
	}
	return words
}

// secretWords returns the secret words of a hidden text, and their parts. A word is secret by
// its position (after "user:", before "@host", after "token=" or "--password"), or if it
// looks random.
func secretWords(text string) (words []string) {
	add := func(w string, secret bool) {
		if w = strings.Trim(w, ".;"); long(w) && (secret || looksMade(w)) {
			words = append(words, w)
		}
	}
	told := false // the previous word names a secret
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

// secretParts examines the parts of a URL or an assignment.
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

// namesSecret matches a word before a secret: an option, a variable, a header.
var namesSecret = regexp.MustCompile(`(?i)^[a-z0-9_-]*(?:passw|passphrase|pwd|secret|token|key|auth|cred|psk|bearer|basic|cookie)[a-z0-9_-]*$`)

// long reports whether a word is distinctive: long enough, and no key of the schema, number
// or address.
func long(word string) bool {
	if _, known := keyNamed(word); known || len(word) < leastWord || harmlessWord(word) {
		return false
	}
	_, err := net.ParseMAC(word)
	return err != nil && word != hidden
}

// leastMade is the minimum length of a word that can look random: "eth0" and "IPv4" are
// shorter.
const leastMade = 5

// looksMade reports whether a word belongs to no language: it mixes letters with digits, or
// small letters with capitals.
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

// fields returns the words of a line.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\"',[]{}", r) })
}

func notAlphanumeric(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
