package peerid

import (
	"errors"
	"strings"
	"unicode"
)

// Names appear in logs, in tables and on the command line. A reader would confuse a name that
// looks like another peer's name with that peer.
var (
	errBlank     = errors.New("a name has no blanks at its ends, and no two in a row")
	errInvisible = errors.New("a name has no invisible characters")
	errGuest     = errors.New("a name in a file of a user who is not root has a-z, A-Z, 0-9, '-', '_', '.' and '@' only, and begins with a letter or digit")
)

// checkLook refuses names that look exactly like another name.
func checkLook(s string) error {
	if strings.Join(strings.Fields(s), " ") != s {
		return errBlank
	}
	before := ' '
	for _, r := range s {
		if Invisible(r) || unicode.Is(unicode.M, r) && !unicode.IsLetter(before) && !unicode.Is(unicode.M, before) {
			return errInvisible
		}
		before = r
	}
	return nil
}

// Invisible reports whether a character has no visible form. A blank counts as visible because
// of its width.
func Invisible(r rune) bool { return unicode.In(r, invisible...) }

// invisible has the characters without a visible form, and control characters. The properties of
// Unicode include the fillers of Hangul and the variation selectors (DerivedCoreProperties).
var invisible = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector, unicode.C, unicode.Zl, unicode.Zp,
	{R16: []unicode.Range16{
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1}, // Khmer vowels, default-ignorable
		{Lo: 0x2800, Hi: 0x2800, Stride: 1}, // the braille pattern without a dot
	}},
}

// CheckGuest is like CheckName, for the name of a peer that a user other than root adds. Only
// ASCII letters are allowed, because too many other letters look like them (Unicode Technical
// Standard 39).
func CheckGuest(s string) error {
	for i := range len(s) {
		c := s[i]
		alnum := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !alnum && (i == 0 || !strings.ContainsRune("-_.@", rune(c))) {
			return errGuest
		}
	}
	return CheckName(s)
}
