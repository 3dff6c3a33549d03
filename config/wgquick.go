package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/srdtun/srdtun/internal/keytext"
)

// maxWGLines bounds the number of lines in a wg-quick file.
const maxWGLines = 65536

// ImportOptions are the options of Import.
type ImportOptions struct {
	// Name is the name of the interface; if it is "", the file gives the name.
	Name string
	// NoHooks turns PreUp, PostUp, PreDown and PostDown into comments.
	NoHooks bool
	// NoBash adds a warning to each hook that needs bash(1), because this host has none.
	NoBash bool
	// Tables are the names and numbers of this host's routing tables (rt_tables(5)).
	Tables map[string]uint32
}

// Imported is a configuration that Import made from a wg-quick file.
type Imported struct {
	Text []byte
	// Notes describe the differences from the wg-quick file, one line each.
	Notes []string
}

// Import converts a wg-quick(8) file into a configuration. Keys of wg-quick(8) and wg(8) keep
// their meaning. A key without a counterpart becomes a comment in the result, and Notes has a
// line about it. The result is valid, or else the error names the faulty line and key of the
// wg-quick file.
func Import(file string, data []byte, o ImportOptions) (*Imported, error) {
	im := importer{file: file, opt: o}
	if o.Name == "" {
		im.opt.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if err := checkOwnName(im.opt.Name); err != nil {
		return nil, im.fail(0, "", "its name becomes the interface's name: %v; give another with -o NAME.toml", err)
	}
	if err := im.readAll(data); err != nil {
		return nil, err
	}
	if err := im.settle(); err != nil {
		return nil, err
	}
	im.write()
	if err := im.verify(); err != nil {
		return nil, err
	}
	return &Imported{Text: []byte(im.out.String()), Notes: im.notes}, nil
}

// importer reads a whole wg-quick file, and then writes a configuration. It reads the whole file
// first, because a later line may repeat a key, or claim the prefix of an earlier peer.
type importer struct {
	file    string
	opt     ImportOptions
	line    int
	iface   *wgSection // all [Interface] sections, which wg reads as one; nil: none yet
	peers   []*wgSection
	at      *wgSection  // the section being read; nil before the first
	pending []wgComment // comments whose section is not known yet
	blank   bool        // the previous line was empty
	empty   bool        // this line is empty
	tail    []string    // comments at the end that belong to no section
	leftOut []*wgLeftOut
	hooks   []string // keys of the imported hooks
	keyBy   *wgField // the hook with a command that sets the private key; nil: none
	keyFile string   // path from a hook that sets the private key; "": none
	notes   []string

	out  strings.Builder
	from []int // for each line of out: its line in the file, or 0
}

// wgSection is an [Interface] or [Peer] section of a wg-quick file.
type wgSection struct {
	name    string // "interface" or "peer"
	line    int
	lead    [][]string // separate blocks of comments above the section
	remarks []string   // its own comments
	below   string     // the comment in the line below its header
	fields  []*wgField
}

// wgField is a configuration key with its value.
type wgField struct {
	key, word string // its name in srdtun and in wg-quick(8)
	line      int
	value     string   // in TOML; "" for a list, which has items
	items     []wgItem // members of a list
	remark    string   // comment after the value
}

// wgItem is a member of a list value, with its line.
type wgItem struct {
	text string // in TOML
	line int
}

func (s *wgSection) field(key string) *wgField {
	for _, f := range s.fields {
		if f.key == key {
			return f
		}
	}
	return nil
}

// add returns the field of a key, and creates a missing field.
func (s *wgSection) add(key, word string, line int) *wgField {
	f := s.field(key)
	if f == nil {
		f = &wgField{key: key, word: word, line: line}
		s.fields = append(s.fields, f)
	}
	return f
}

// drop removes the field of a key.
func (s *wgSection) drop(key string) {
	for i, f := range s.fields {
		if f.key == key {
			s.fields = append(s.fields[:i], s.fields[i+1:]...)
			return
		}
	}
}

// inQuotes matches a value that the function quoted() has printed.
var inQuotes = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// fail returns the error for a line of the wg-quick file. fail() hides values in the message,
// because a value may be a misplaced secret.
func (im *importer) fail(line int, word, format string, args ...any) error {
	msg := inQuotes.ReplaceAllStringFunc(fmt.Sprintf(format, args...), redacted)
	return &Error{File: im.file, Line: line, Key: clipped(word), Msg: msg}
}

// note records a difference between the wg-quick file and the result.
func (im *importer) note(line int, word, format string, args ...any) {
	im.notes = append(im.notes, im.fail(line, word, format, args...).Error())
}

func (im *importer) readAll(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return im.fail(0, "", "is UTF-16 text; save it as UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return im.fail(1+bytes.Count(data[:bytes.IndexByte(data, 0)], []byte{'\n'}), "", "has a zero byte: this is not a text")
	}
	for text := range strings.Lines(strings.TrimPrefix(string(data), "\ufeff")) {
		if im.line++; im.line > maxWGLines {
			return im.fail(im.line, "", "more than %d lines", maxWGLines)
		}
		if err := im.read(strings.TrimSpace(text)); err != nil {
			return err
		}
	}
	im.place(nil)
	return nil
}

// read parses one line of the wg-quick file.
func (im *importer) read(line string) error {
	text, note, _ := strings.Cut(line, "#")
	text = strings.TrimSpace(text)
	name, value, pair := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	hook := wgHookKey(name)
	if pair && hook != "" {
		// bash(1) parses the rest of a hook's line, and it has another rule for comments.
		value, note = cutShellComment(line[strings.IndexByte(line, '=')+1:])
	}
	im.blank, im.empty = im.empty, line == ""
	switch {
	case strings.HasPrefix(text, "["):
		return im.begin(text, note)
	case text == "":
		if im.at != nil && im.line == im.at.line+1 {
			im.at.below = strings.TrimSpace(note)
		}
		im.remember(note)
		return nil
	}
	if im.at == nil || !pair {
		return im.fail(im.line, "", "want Key = Value in a section")
	}
	im.place(im.at)
	if note = strings.TrimSpace(note); note != "" {
		im.at.remarks = append(im.at.remarks, note)
	}
	value = strings.TrimSpace(value)
	if hook != "" {
		return im.hook(hook, value)
	}
	return im.pair(name, value)
}

// begin parses the header of a section.
func (im *importer) begin(text, note string) error {
	s := &wgSection{line: im.line}
	switch strings.ToLower(strings.Join(strings.Fields(text), "")) {
	case "[interface]":
		s.name = "interface"
		if im.iface != nil {
			s = im.iface
		}
	case "[peer]":
		s.name = "peer"
	default:
		return im.fail(im.line, "", "%s is not a section of wg-quick(8)", quoted(redacted(text)))
	}
	im.place(s)
	if note = strings.TrimSpace(note); note != "" {
		s.remarks = append(s.remarks, note)
	}
	switch {
	case s.name == "peer":
		im.peers = append(im.peers, s)
	case im.iface == nil:
		im.iface = s
	}
	im.at = s
	return nil
}

// pair parses one line Key = Value of a section.
func (im *importer) pair(name, value string) error {
	word := plain(name)
	if why, ok := wgForeign[word]; ok {
		return im.foreign(name, value, why)
	}
	k, ok := wgKeys[word]
	switch {
	case !ok:
		if near, is := Near(name, wgWords()); is {
			return im.fail(im.line, shownWord(name), "is not a key of wg-quick(8); the nearest is %s", near)
		}
		return im.fail(im.line, shownWord(name), "is not a key of wg-quick(8)")
	case k.section != im.at.name:
		return im.fail(im.line, k.word, "belongs in [%s]", strings.ToUpper(k.section[:1])+k.section[1:])
	case value == "" && !k.empty:
		return im.fail(im.line, k.word, "is empty; give a value, or leave the line out")
	case value == "":
		return nil // wg-quick(8) ignores the line
	case !utf8.ValidString(value):
		return im.fail(im.line, k.word, "is not UTF-8 text")
	}
	if k.list != nil {
		return k.list(im, k, value)
	}
	text, err := k.one(im, strings.Join(strings.Fields(value), ""))
	if err != nil {
		return im.fail(im.line, k.word, "%v", err)
	}
	if old := im.at.field(k.key); old != nil && old.value != text {
		im.note(im.line, k.word, "is given again, after line %d; the later one counts, as with wg-quick", old.line)
	}
	im.at.drop(k.key)
	if text != "" {
		im.at.add(k.key, k.word, im.line).value = text
	}
	return nil
}

// keyWords matches names that other programs give to keys, such as DisallowedIPs and excluded_apps.
// It does not match a part of a base64 key.
var keyWords = regexp.MustCompile(`^(?:[A-Z]{0,3}[a-z]{2,}[ _-]?){1,6}[A-Za-z]{0,3}[0-9]?$`)

// shownWord returns the name of an unknown key for an error message. It hides the name if it may be
// a misplaced secret.
func shownWord(name string) string {
	if keyWords.MatchString(name) && !keytext.Shape.MatchString(name) {
		return name
	}
	return redacted(name)
}

// wgLeftOut lists keys that Import leaves out for the same reason.
type wgLeftOut struct {
	why   string
	line  int
	words []string
}

// foreign keeps another program's key as a comment.
func (im *importer) foreign(name, value, why string) error {
	i := slices.IndexFunc(im.leftOut, func(l *wgLeftOut) bool { return l.why == why })
	if i < 0 {
		i = len(im.leftOut)
		im.leftOut = append(im.leftOut, &wgLeftOut{why: why, line: im.line})
	}
	if l := im.leftOut[i]; !slices.Contains(l.words, name) {
		l.words = append(l.words, name)
	}
	if head := "not taken over: " + why; !slices.Contains(im.at.remarks, head) {
		im.at.remarks = append(im.at.remarks, head)
	}
	im.at.remarks = append(im.at.remarks, "  "+name+" = "+value)
	return nil
}

// verify parses the result as the daemon will do, but reads no key file. A fault in the result must
// be a contradiction between values. verify() reports it with the names of the wg-quick file.
func (im *importer) verify() error {
	text := im.out.String()
	if f := im.iface.field("private_key_file"); f != nil {
		other, err := GeneratePrivate()
		if err != nil {
			return err
		}
		text = strings.Replace(text, "\nprivate_key_file = "+f.value, "\nprivate_key = "+inTOML(other.Reveal()), 1)
	}
	_, err := parse(im.opt.Name+".toml", sealed, []byte(text))
	if err == nil {
		return nil
	}
	var e *Error
	if !errors.As(err, &e) {
		return im.fail(0, "", "%v", err)
	}
	line := 0
	if e.Line > 0 && e.Line <= len(im.from) {
		line = im.from[e.Line-1]
	}
	key := e.Key[strings.LastIndexByte(e.Key, '.')+1:]
	word := cmp.Or(wgWord(key), key)
	for _, w := range wgHooks {
		if hookKey(w) == key {
			word = w
		}
	}
	if key == "peer" {
		word = "[Peer]"
	}
	return im.fail(line, word, "%s", inWGWords(e.Msg))
}
