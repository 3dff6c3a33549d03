package peerid

import "strings"

// Look returns the same text, called skeleton, for all names that a reader can confuse. The
// skeleton of Unicode Technical Standard 39 keeps more differences than this one. Look drops
// case and punctuation, and replaces digits, and letters of other alphabets, by the ASCII
// letters that they look like. Punctuation between two digits stays as one sign, because 1-12
// and 11-2 are different numbers.
func Look(name string) string {
	var b strings.Builder
	digit, apart := false, false
	for _, r := range strings.ToLower(name) {
		if r >= 0xff01 && r <= 0xff5e { // full width
			r = []rune(strings.ToLower(string(r - 0xfee0)))[0]
		}
		if strings.ContainsRune(punctuation, r) {
			apart = true
			continue
		}
		is := r >= '0' && r <= '9'
		if digit && is && apart {
			b.WriteByte('-')
		}
		digit, apart = is, false
		if like, ok := alike[r]; ok {
			r = like
		}
		b.WriteRune(r)
	}
	return pairs.Replace(b.String())
}

// punctuation has the characters that a reader overlooks.
const punctuation = " \t\u00a0-_.@,:;'\"`~!/\\()[]{}+*#=\u2010\u2011\u2012\u2013\u2014\u2212\u00b7\u2019"

// pairs has the pairs of letters that look like one letter.
var pairs = strings.NewReplacer("rn", "m", "vv", "w")

// alike maps a small letter or digit to the letter that it looks like.
var alike = func() map[rune]rune {
	m := map[rune]rune{}
	for to, from := range map[rune]string{
		'a': "4\u0430\u03b1\u00e0\u00e1\u00e2\u00e3\u00e4\u00e5", 'b': "8\u0432\u044c\u03b2", 'c': "\u0441\u00e7\u03f2", 'd': "\u0501",
		'e': "3\u0435\u0451\u0454\u03b5\u00e8\u00e9\u00ea\u00eb", 'g': "9\u0261", 'h': "\u043d\u04bb\u03b7", 'j': "\u0458",
		'k': "\u043a\u03ba", 'l': "1i|\u0456\u0457\u0131\u03b9\u04cf\u00ec\u00ed\u00ee\u00ef\u0142", 'm': "\u043c", 'n': "\u043f\u00f1",
		'o': "0\u043e\u03bf\u03c3\u00f2\u00f3\u00f4\u00f5\u00f6\u00f8", 'p': "\u0440\u03c1", 'q': "\u051b", 'r': "\u0433", 's': "5\u0455\u015f\u0161",
		't': "7\u0442\u03c4", 'u': "\u03c5\u00f9\u00fa\u00fb\u00fc", 'v': "\u03bd\u0475", 'w': "\u051d\u03c9\u0448", 'x': "\u0445\u03c7", 'y': "\u0443\u03b3\u00fd\u00ff", 'z': "2",
	} {
		for _, r := range from {
			m[r] = to
		}
	}
	return m
}()
