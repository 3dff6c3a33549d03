package config

import (
	"net"
	"regexp"
	"strings"
	"unicode"
)

// Words of a hidden text may also occur in an error, in a log, or in a route that a hook made.
// Secret words must be hidden there too, but ordinary words must not. If all words were secret, a
// hook like ["logger", "tunnel", "started"] would hide common words in the whole report.

// leastWord is the minimum length, in bytes, of a secret word that is hidden everywhere. Words
// shorter than leastWord are part of many harmless texts.
const leastWord = 3

// wholeWords returns all words of a secret value, and parts of these words.
func wholeWords(text string) (words []string) {
	for _, w := range append(fields(text), strings.FieldsFunc(text, notAlphanumeric)...) {
		if long(w) {
			words = append(words, w)
		}
	}
	return words
}

// SecretKeys returns the keys that stand where a configuration has a secret. The text may be
// invalid TOML.
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

// SecretValues returns the values of private and preshared keys in a text, which may be invalid
// TOML. It also returns values that are not valid keys, because a key that lost some characters is
// still a secret.
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

// secretWords returns the secret words of a hidden text, and parts of these words. A word is
// secret by its position (after "user:", before "@host", after "token=" or "--password"), or
// because it looks random.
func secretWords(text string) (words []string) {
	add := func(w string, secret bool) {
		if w = strings.Trim(w, ".;"); long(w) && (secret || looksMade(w)) {
			words = append(words, w)
		}
	}
	told := false // the previous word announces a secret
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

// secretParts examines the parts of a URL, or of an assignment such as "a=b".
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

// namesSecret matches a word that announces a secret, such as an option, a variable or a header.
var namesSecret = regexp.MustCompile(`(?i)^[a-z0-9_-]*(?:passw|passphrase|pwd|secret|token|key|auth|cred|psk|bearer|basic|cookie)[a-z0-9_-]*$`)

// long reports whether a word is distinctive: long enough, and not a configuration key, a number
// or an address.
func long(word string) bool {
	if _, known := keyNamed(word); known || len(word) < leastWord || harmlessWord(word) {
		return false
	}
	_, err := net.ParseMAC(word)
	return err != nil && word != hidden
}

// leastMade is the minimum length, in bytes, of a word that can look generated; "eth0" and "IPv4"
// are shorter.
const leastMade = 5

// looksMade reports whether a word looks generated, because it mixes letters with digits, or lower
// case with upper case.
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

// fields splits a line into words.
func fields(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t\"',[]{}", r) })
}

func notAlphanumeric(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
