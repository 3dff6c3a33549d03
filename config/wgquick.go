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
)

// maxWGLines bounds a file of wg-quick's.
const maxWGLines = 65536

// ImportOptions say how a file of wg-quick's is taken over.
type ImportOptions struct {
	// Name is the interface's; "": that of the file.
	Name string
	// NoHooks leaves PreUp, PostUp, PreDown and PostDown in the comments.
	NoHooks bool
	// Tables are names of routing tables on this host, as rt_tables(5) gives them.
	Tables map[string]uint32
}

// Imported is a configuration that was made of a file of wg-quick's.
type Imported struct {
	Text []byte
	// Notes say what is not as it was in that file, each in a line.
	Notes []string
}

// Import makes a configuration of a file of wg-quick(8). What that program and wg(8) take
// is taken over with the same meaning; what has no counterpart stands in the result as a
// comment, and a note says so. The result is sound, or the error names the line and the
// key of the file that are not, in the words of that file.
func Import(file string, data []byte, o ImportOptions) (*Imported, error) {
	im := importer{file: file, opt: o}
	if o.Name == "" {
		im.opt.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	if err := checkOwnName(im.opt.Name); err != nil {
		return nil, im.fail(0, "", "its name is to be the interface's: %v; give another with -o NAME.toml", err)
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

// importer is a file of wg-quick's while it is read, and the configuration while it is
// written. Keys may be given again, and what a later peer claims is no earlier one's, so
// that nothing is written before all is read.
type importer struct {
	file    string
	opt     ImportOptions
	line    int
	iface   *wgSection // of all [Interface] sections, which wg reads as one; nil: none yet
	peers   []*wgSection
	at      *wgSection  // the section that is being read; nil before the first
	pending []wgComment // comments of which it is not known yet whose they are
	blank   bool        // the line before this one was empty
	empty   bool        // this one is
	tail    []string    // comments at the end, which are nobody's
	leftOut []*wgLeftOut
	hooks   []string // the words of those that were taken over
	keyBy   *wgField // the hook that gives the private key by a command; nil: none
	notes   []string

	out  strings.Builder
	from []int // of each line of out: the line of the file that it was made of, or 0
}

// wgSection is one [Interface] or [Peer].
type wgSection struct {
	name    string // "interface" or "peer"
	line    int
	lead    [][]string // blocks of comments above it that stand alone
	remarks []string   // comments that are its own
	fields  []*wgField
}

// wgField is a key of ours with its value.
type wgField struct {
	key, word string // as we and as wg-quick(8) call it
	line      int
	value     string   // in TOML; of a list: "", and items
	items     []wgItem // of a list
	remark    string   // behind the value
}

// wgItem is a member of a list.
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

// add returns the field of a key, which is made if it is not there yet.
func (s *wgSection) add(key, word string, line int) *wgField {
	f := s.field(key)
	if f == nil {
		f = &wgField{key: key, word: word, line: line}
		s.fields = append(s.fields, f)
	}
	return f
}

// drop takes a field out.
func (s *wgSection) drop(key string) {
	for i, f := range s.fields {
		if f.key == key {
			s.fields = append(s.fields[:i], s.fields[i+1:]...)
			return
		}
	}
}

// inQuotes is a value of the file as quoted shows it.
var inQuotes = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)

// fail is what is wrong with a line. A value that it repeats may be a secret in the wrong place.
func (im *importer) fail(line int, word, format string, args ...any) error {
	msg := inQuotes.ReplaceAllStringFunc(fmt.Sprintf(format, args...), redacted)
	return &Error{File: im.file, Line: line, Key: clipped(word), Msg: msg}
}

// note tells what is not as it was in the file.
func (im *importer) note(line int, word, format string, args ...any) {
	im.notes = append(im.notes, im.fail(line, word, format, args...).Error())
}

func (im *importer) readAll(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return im.fail(0, "", "is UTF-16 text; save it as UTF-8")
	case bytes.IndexByte(data, 0) >= 0:
		return im.fail(1+bytes.Count(data[:bytes.IndexByte(data, 0)], []byte{'\n'}), "", "has a zero byte: this is no text")
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

// read takes one line.
func (im *importer) read(line string) error {
	text, note, _ := strings.Cut(line, "#")
	text = strings.TrimSpace(text)
	name, value, pair := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	hook := wgHookKey(name)
	if pair && hook != "" {
		// bash(1) reads the rest of the line, and knows its comments from other "#".
		value, note = cutShellComment(line[strings.IndexByte(line, '=')+1:])
	}
	im.blank, im.empty = im.empty, line == ""
	switch {
	case strings.HasPrefix(text, "["):
		return im.begin(text, note)
	case text == "":
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

// begin takes the header of a section.
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
		return im.fail(im.line, "", "%s is no section of wg-quick(8)", quoted(redacted(text)))
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

// pair takes one Key = Value of the section.
func (im *importer) pair(name, value string) error {
	word := plain(name)
	if why, ok := wgForeign[word]; ok {
		return im.foreign(name, value, why)
	}
	k, ok := wgKeys[word]
	switch {
	case !ok:
		near := wgNearest(name)
		return im.fail(im.line, redacted(name), "is no key of wg-quick(8); the nearest is %s", near)
	case k.section != im.at.name:
		return im.fail(im.line, k.word, "belongs in [%s]", strings.ToUpper(k.section[:1])+k.section[1:])
	case value == "" && !k.empty:
		return im.fail(im.line, k.word, "is empty; give a value, or leave the line out")
	case value == "":
		return nil // wg-quick(8) does as if the line were not there
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
		im.note(im.line, k.word, "is given again, after line %d; the later counts, as with wg-quick", old.line)
	}
	im.at.drop(k.key)
	if text != "" {
		im.at.add(k.key, k.word, im.line).value = text
	}
	return nil
}

// wgLeftOut are keys that a result does not have, for one reason.
type wgLeftOut struct {
	why   string
	line  int
	words []string
}

// foreign keeps a key of another program's as a comment.
func (im *importer) foreign(name, value, why string) error {
	i := slices.IndexFunc(im.leftOut, func(l *wgLeftOut) bool { return l.why == why })
	if i < 0 {
		i = len(im.leftOut)
		im.leftOut = append(im.leftOut, &wgLeftOut{why: why, line: im.line})
		im.at.remarks = append(im.at.remarks, "not taken over: "+why)
	}
	im.leftOut[i].words = append(im.leftOut[i].words, name)
	im.at.remarks = append(im.at.remarks, "  "+name+" = "+value)
	return nil
}

// verify reads the result as the daemon will, but for the key file that it may name. What
// is wrong then contradicts something else, and is told in the words of the file.
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
