package config

import (
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/internal/keytext"
)

// Conceal returns the text of a configuration without secrets, for readers who must not see them.
// The text may be invalid, and a mistake in it may have put a secret anywhere. Conceal therefore
// does not rely on a list of keys with secret values. It shows a whole line only if the key and the
// form of the value are harmless. Of any other line, it shows at most the key. It leaves out
// comments, but keeps the number of lines, because messages refer to line numbers.
func Conceal(text string, k Known) (shown string, words []string) {
	c := concealer{known: k}
	var b strings.Builder
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimRight(line, "\r\n")
		if c.inString(line) {
			c.open = keySpec{}
			b.WriteString(c.hide(line))
		} else {
			b.WriteString(c.line(line))
		}
		b.WriteByte('\n')
	}
	slices.Sort(c.words)
	return b.String(), slices.Compact(c.words)
}

// The functions of Known recognise harmless words that look like secrets.
type Known struct {
	Public  func(key string) bool  // reports whether a key is known to be a public key
	Program func(name string) bool // reports whether a name is that of a program that may begin a command
}

// concealer holds the state of Conceal from one line to the next.
type concealer struct {
	known Known
	words []string

	// The field open is the key of a list that continues in the next line. The field open is zero
	// if no list continues, or after a line with a syntax error. After a syntax error, the
	// concealer hides all lines up to the next key.
	open keySpec

	// The field quotes is the closing quotation mark of the current multi-line string. Outside
	// multi-line strings, quotes is empty.
	quotes string
}

// inString reports whether the line begins within a multi-line string, and updates quotes for the
// next line. It also counts quotes in comments and in other strings, which can only have the effect
// that more lines are hidden.
func (c *concealer) inString(line string) (in bool) {
	in = c.quotes != ""
	for {
		i := -1
		if c.quotes != "" {
			i = strings.Index(line, c.quotes)
		} else {
			i = firstOf(line, `"""`, "'''")
		}
		if i < 0 {
			return in
		}
		if c.quotes == "" {
			c.quotes = line[i : i+3]
		} else {
			c.quotes = ""
		}
		line = line[i+3:]
	}
}

// firstOf returns the index in s of the first occurrence of a or b, or -1.
func firstOf(s, a, b string) int {
	i, j := strings.Index(s, a), strings.Index(s, b)
	if i < 0 || j >= 0 && j < i {
		return j
	}
	return i
}

var (
	// headerLine matches the header of a section. keyLine matches a line with a key.
	headerLine = regexp.MustCompile(`^\[{1,2}[ \t]*([a-z]+)[ \t]*\]{1,2}[ \t]*(?:#.*)?$`)
	keyLine    = regexp.MustCompile(`^(?:([a-z]+)\.)?([A-Za-z_-]+)[ \t]*=[ \t]*(.*)$`)
)

func (c *concealer) line(text string) string {
	text = strings.TrimSpace(text)
	if text == "" {
		return ""
	}
	if text[0] == '#' {
		return "#"
	}
	if m := headerLine.FindStringSubmatch(text); m != nil && knownSection(m[1]) {
		c.open = keySpec{}
		return header(m[1])
	}
	if m := keyLine.FindStringSubmatch(text); m != nil {
		return c.pair(m[1], m[2], m[3])
	}
	if c.open.name != "" {
		return c.goOn(text)
	}
	return c.hide(text)
}

// pair shows "key = value", or only the key.
func (c *concealer) pair(section, key, value string) string {
	c.open = keySpec{}
	if section != "" && knownSection(section) {
		section += "."
	} else {
		section = ""
	}
	k, known := keyNamed(key)
	if !known {
		return c.misspelled(section, key) + " = " + c.hideValue(key, value)
	}
	head := section + key + " = "
	if k.commands() {
		shown, rest := c.command(value)
		if rest {
			c.open = k
		}
		return head + shown
	}
	elements, end, ok := k.elements(value)
	if !ok || k.secret || !c.harmless(k, elements, true) || end != listNone && k.bytes(elements) {
		return head + c.hideValue(key, value)
	}
	if end == listOpen {
		c.open = k
	}
	return head + withoutComment(value)
}

// slips is the maximum edit distance at which a misspelled key is still shown.
const slips = 2

func (c *concealer) misspelled(section, key string) string {
	for _, s := range schema {
		if edits(plain(key), plain(nearest(key, s.names()))) <= slips {
			return section + key
		}
	}
	return c.hide(key)
}

// goOn shows a line that continues a list.
func (c *concealer) goOn(text string) string {
	k := c.open
	if k.commands() {
		if text == "]" || text == "]," {
			c.open = keySpec{}
			return text
		}
		if strings.HasPrefix(text, "[") {
			shown, rest := c.command(text)
			if rest || shown == hidden {
				c.open = keySpec{}
			}
			return shown
		}
		c.open = keySpec{}
		return c.hide(text)
	}
	elements, end, ok := scanElements(text)
	// A line with a single word may belong to another list, whose key was lost.
	if !ok || !c.harmless(k, elements, false) || slices.ContainsFunc(elements, byteLike.MatchString) {
		c.open = keySpec{}
		return c.hide(text)
	}
	if end == listClosed {
		c.open = keySpec{}
	}
	return withoutComment(text)
}

// hide returns the text "(hidden)", and records the secret words of the hidden text.
func (c *concealer) hide(text string) string {
	c.words = append(c.words, secretWords(text)...)
	return hidden
}

// hideValue hides the value of a key, and records its secret words. If the key is for a secret,
// all words of its value are secret.
func (c *concealer) hideValue(key, value string) string {
	if namesSecret.MatchString(key) && key != "public_key" && key != "private_key_file" {
		c.words = append(c.words, wholeWords(value)...)
		return hidden
	}
	return c.hide(value)
}

// program matches words that have the form of a program's name or path.
var program = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

// command shows the first word of each command that ends in this line. The result `rest` means
// that the list continues.
func (c *concealer) command(value string) (shown string, rest bool) {
	commands, whole := scanCommands(value)
	if commands == nil {
		if trimmed := withoutComment(value); trimmed == "[" {
			return "[", true
		}
		return c.hide(value), false
	}
	c.hide(value)
	var v []string
	for _, argv := range commands {
		name := hidden
		if program.MatchString(argv[0]) && !tangled(argv[0], true) && c.known.Program(argv[0]) {
			name = inTOML(argv[0])
		}
		if len(argv) > 1 {
			name += ", " + hidden
		}
		v = append(v, "["+name+"]")
	}
	return strings.Join(v, ", "), !whole
}

// commands reports whether a key's value is a list of commands.
func (k keySpec) commands() bool { return k.kind == "list of commands" }

// keyNamed finds a key with this exact name in any section.
func keyNamed(name string) (keySpec, bool) {
	for _, s := range schema {
		for _, k := range s.keys {
			if k.name == name {
				return k, true
			}
		}
	}
	return keySpec{}, false
}

func knownSection(name string) bool {
	return slices.ContainsFunc(schema, func(s sectionSpec) bool { return s.name == name })
}

// harmless reports whether the elements have a form that values of the key k usually have. The
// argument `whole` means that the elements are on the same line as their key.
func (c *concealer) harmless(k keySpec, elements []string, whole bool) bool {
	for _, e := range elements {
		if !harmlessWord(e) && !c.freeWord(k, e, whole) {
			return false
		}
	}
	return true
}

var (
	numberLike = regexp.MustCompile(`^-?(?:0x[0-9a-fA-F]{1,8}|[0-9]{1,10}|[0-9]{0,3}\.[0-9]{1,6}|[0-9]{1,5}-[0-9]{1,5})$`)
	hostLike   = regexp.MustCompile(`^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+\.?(?::[0-9]{1,5})?$`)
	deviceLike = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,15}$`)
	nameLike   = regexp.MustCompile(`^[\pL\pN _.@-]{1,63}$`)
	pathLike   = regexp.MustCompile(`^[A-Za-z0-9_./@-]+$`)
)

// harmlessWord reports whether a text is harmless anywhere: a number, an address, a time, or
// a word of the schema.
func harmlessWord(text string) bool {
	if numberLike.MatchString(text) || slices.Contains(Policies, text) {
		return true
	}
	for _, s := range schema {
		for _, k := range s.keys {
			if strings.Contains(k.kind, `"`+text+`"`) && text != "" {
				return true
			}
		}
	}
	if text == "true" || text == "false" {
		return true
	}
	if _, err := netip.ParseAddrPort(text); err == nil {
		return true
	}
	if _, err := netip.ParseAddr(text); err == nil {
		return true
	}
	if _, err := netip.ParsePrefix(text); err == nil {
		return true
	}
	_, err := time.ParseDuration(text)
	return err == nil
}

// byteLike matches a byte in decimal or hexadecimal.
var byteLike = regexp.MustCompile(`^-?(?:[0-9]{1,3}|0x[0-9a-fA-F]{1,2})$`)

// bytes reports whether the elements of a list may be the bytes of a secret key. Of all
// configuration keys only weights has a list of numbers, so a short list of weights is allowed.
func (k keySpec) bytes(elements []string) bool {
	return slices.ContainsFunc(elements, byteLike.MatchString) && (k.name != "weights" || len(elements) >= leastBytes)
}

// A list of weights with at least leastBytes numbers may be half of a secret key, written as bytes.
const leastBytes = keyBytes / 2

// freeWord reports whether a text is probably a name or a path that a user chose.
func (c *concealer) freeWord(k keySpec, text string, whole bool) bool {
	switch {
	case k.name == "endpoints" || k.name == "dns":
		return hostLike.MatchString(text) && !tangled(text, false)
	case !whole:
		return false
	case k.name == "public_key":
		return c.known.Public(text)
	case k.name == "local" || k.name == "primary":
		return deviceLike.MatchString(text)
	case k.kind == "path":
		return pathLike.MatchString(text) && !tangled(text, true)
	case k.name == "name":
		return nameLike.MatchString(text) && !tangled(text, false) && !strings.Contains(plain(text), "key")
	}
	return false
}

// A run of at least tangledRun letters and digits of mixed case is unlikely to be typed by a user.
// Twelve characters of a base64 key have more than 64 bits.
const tangledRun = 12

// tangled reports whether a text contains a run of characters that looks random. For a path,
// tangled() checks each part separately.
func tangled(text string, path bool) bool { return untangled(text, path) != text }

// looksDrawn reports whether a file name may in fact be a key.
func looksDrawn(name string) bool {
	_, whole := ParseSecret(name)
	_, short := ParseSecret(name + "=")
	return whole == nil || short == nil || !strings.HasPrefix(name, "/") && tangled(name, true)
}

// runs and pathRuns match runs of characters that may be keys in base64 or hexadecimal.
var runs, pathRuns = regexp.MustCompile(`[A-Za-z0-9+/=]+`), regexp.MustCompile(`[A-Za-z0-9+=]+`)

// untangled returns the text with random-looking runs of characters hidden. These are runs of mixed
// case, and longer runs that may be hexadecimal.
func untangled(text string, path bool) string {
	look := runs
	if path {
		look = pathRuns
	}
	return look.ReplaceAllStringFunc(keytext.Hide(text, nil), func(run string) string {
		mixed := strings.ToLower(run) != run && strings.ToUpper(run) != run
		if len(run) >= tangledRun && mixed || len(run) >= 2*tangledRun && !allNumeric(run) {
			return hidden
		}
		return run
	})
}
