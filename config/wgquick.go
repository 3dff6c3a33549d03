package config

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// maxWGLines bounds a file of wg-quick's.
const maxWGLines = 65536

// wgKeys are the keys of wg(8) and wg-quick(8) that are ours in other words.
var wgKeys = map[string]struct {
	section, key string
	list         bool
}{
	"privatekey":          {"interface", "private_key", false},
	"address":             {"interface", "address", true},
	"listenport":          {"interface", "listen_port", false},
	"mtu":                 {"interface", "mtu", false},
	"fwmark":              {"interface", "fwmark", false},
	"table":               {"interface", "table", false},
	"dns":                 {"interface", "dns", true},
	"publickey":           {"peer", "public_key", false},
	"presharedkey":        {"peer", "preshared_key", false},
	"endpoint":            {"peer", "endpoints", true},
	"allowedips":          {"peer", "allowed_ips", true},
	"persistentkeepalive": {"peer", "persistent_keepalive", false},
}

// wgTables are the tables that ip route knows by name on every host (/etc/iproute2/rt_tables).
var wgTables = map[string]string{"main": "254", "default": "253"}

// wgInstead says what to do in place of a key of wg-quick(8) that has no other words.
var wgInstead = map[string]string{
	"preup":      "pre_up is a list of words, which no shell reads",
	"postup":     "post_up is a list of words, which no shell reads",
	"predown":    "pre_down is a list of words, which no shell reads",
	"postdown":   "post_down is a list of words, which no shell reads",
	"saveconfig": "srdtun set --save writes what it changes to the file",
}

// Import makes a configuration of a file of wg-quick(8). What has no counterpart stands
// in it as a comment that says what to do. The result is sound, or the error names the
// line of the file that is not.
func Import(file string, data []byte) ([]byte, error) {
	im := importer{file: file}
	s := bufio.NewScanner(strings.NewReader(strings.TrimPrefix(string(data), "\ufeff")))
	s.Buffer(nil, maxFileBytes)
	for s.Scan() {
		if im.line++; im.line > maxWGLines {
			return nil, im.fail("", "more than %d lines", maxWGLines)
		}
		if err := im.read(strings.TrimSpace(s.Text())); err != nil {
			return nil, err
		}
	}
	if err := s.Err(); err != nil {
		return nil, &Error{File: file, Msg: err.Error()}
	}
	im.takeAbove()
	im.flush()
	text := []byte(im.out.String())
	if _, err := parse(im.file+".toml", sealed, text); err != nil {
		return nil, im.fault(err)
	}
	return text, nil
}

// importer is a file while it is read. Lists may be given in several lines, so that a
// section is written when it ends.
type importer struct {
	file    string
	line    int
	out     strings.Builder
	from    []int  // of each line of out: the line of the file that it is of, or 0
	section string // "interface", "peer", or "" before the first
	begins  int    // the section's line
	keys    []string
	values  map[string][]string
	lines   map[string]int // of each key
	remarks []string       // of the section
	above   []string       // comments that may be of what follows
}

// fault is what is wrong with the result, at the line of the file that it was made of.
func (im *importer) fault(err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return &Error{File: im.file, Msg: err.Error()}
	}
	at := 0
	if e.Line > 0 && e.Line <= len(im.from) {
		at = im.from[e.Line-1]
	}
	return &Error{File: im.file, Line: at, Key: e.Key, Msg: e.Msg}
}

// write adds a line, which was made of that line of the file.
func (im *importer) write(text string, from int) {
	im.out.WriteString(text + "\n")
	im.from = append(im.from, from)
}

func (im *importer) fail(key, format string, args ...any) error {
	return &Error{File: im.file, Line: im.line, Key: clipped(redacted(key)), Msg: fmt.Sprintf(format, args...)}
}

func (im *importer) read(text string) error {
	if at := strings.IndexByte(text, '#'); at >= 0 {
		if note := strings.TrimSpace(text[at+1:]); note != "" {
			im.above = append(im.above, note)
		}
		text = strings.TrimSpace(text[:at])
	}
	switch {
	case text == "":
		return nil
	case strings.HasPrefix(text, "["):
		name := strings.ToLower(text)
		if name != "[interface]" && name != "[peer]" {
			return im.fail("", "%s is no section of wg-quick(8)", quoted(text))
		}
		im.flush()
		im.section, im.begins = strings.Trim(name, "[]"), im.line
		im.values, im.lines = map[string][]string{}, map[string]int{}
		im.takeAbove()
		return nil
	}
	im.takeAbove()
	name, value, ok := strings.Cut(text, "=")
	name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	if !ok || im.section == "" {
		return im.fail("", "want Key = Value in a section")
	}
	return im.pair(name, value)
}

// takeAbove takes the comments seen last as the section's.
func (im *importer) takeAbove() {
	im.remarks, im.above = append(im.remarks, im.above...), nil
}

func (im *importer) pair(name, value string) error {
	if note, ok := wgInstead[plain(name)]; ok {
		im.remarks = append(im.remarks, name+" = "+value, "  ^ not taken over: "+note)
		return nil
	}
	k, ok := wgKeys[plain(name)]
	switch {
	case !ok:
		return im.fail(name, "is no key of wg-quick(8)")
	case k.section != im.section:
		return im.fail(name, "belongs in [%s]", k.section)
	case len(im.values[k.key]) > 0 && !k.list:
		return im.fail(name, "is there already")
	}
	if im.values[k.key] == nil {
		im.keys = append(im.keys, k.key)
		im.lines[k.key] = im.line
	}
	if !k.list {
		if number, ok := wgTables[value]; ok && k.key == "table" {
			value = number
		}
		im.values[k.key] = []string{value}
		return nil
	}
	for part := range strings.SplitSeq(value, ",") {
		if part = strings.TrimSpace(part); part != "" {
			im.values[k.key] = append(im.values[k.key], part)
		}
	}
	return nil
}

// flush writes the section that ends.
func (im *importer) flush() {
	if im.section == "" {
		return
	}
	if im.out.Len() > 0 {
		im.write("", 0)
	}
	for _, r := range im.remarks {
		im.write("# "+oneLine(r), 0)
	}
	im.write(header(im.section), im.begins)
	for _, k := range im.keys {
		v := im.values[k]
		if len(v) == 0 {
			continue
		}
		spec := sectionOf(im.section).key(k)
		text := listTOML(v)
		if !strings.HasPrefix(spec.kind, "list") {
			text, _ = spec.asTOML(v[0]) // a line has no line end
		}
		im.write(k+" = "+text, im.lines[k])
	}
	im.section, im.keys, im.values, im.remarks = "", nil, nil, nil
}

func (s sectionSpec) key(name string) keySpec {
	for _, k := range s.keys {
		if k.name == name {
			return k
		}
	}
	panic("config: no key " + name)
}

// Export writes a configuration as a file of wg-quick(8), as far as that has words for
// it; the rest stands there as comments. A peer of several endpoints gets the first.
func Export(c *Config) []byte {
	var b strings.Builder
	b.WriteString("# Of " + oneLine(c.File) + ". The two protocols do not understand each other:\n# both ends of a tunnel need the same.\n")
	exportSection(&b, "interface", c, nil)
	for _, s := range schema {
		if s.name != "interface" && s.name != "peer" {
			exportRest(&b, s, c)
		}
	}
	for i := range c.Peers {
		b.WriteByte('\n')
		exportSection(&b, "peer", c, &c.Peers[i])
	}
	return []byte(b.String())
}

func exportSection(b *strings.Builder, name string, c *Config, p *Peer) {
	b.WriteString("[" + strings.ToUpper(name[:1]) + name[1:] + "]\n")
	for _, k := range sectionOf(name).keys {
		v := k.value(c, p)
		if v == "" && k.name == "listen_port" {
			v = fmt.Sprint(DefaultListenPort) // another than wg's, which is any
		}
		if v == "" {
			continue
		}
		word, value := wgWord(k.name), fromTOML(v)
		if word == "Endpoint" {
			first, rest, _ := strings.Cut(value, ", ")
			if value = first; rest != "" {
				b.WriteString("# endpoints besides: " + rest + "\n")
			}
		}
		if word == "" {
			b.WriteString("# " + k.name + " = " + v + "\n")
			continue
		}
		b.WriteString(word + " = " + value + "\n")
	}
}

// exportRest writes what wg-quick(8) has no words for.
func exportRest(b *strings.Builder, s sectionSpec, c *Config) {
	for _, k := range s.keys {
		if v := k.value(c, nil); v != "" {
			b.WriteString("# " + s.name + "." + k.name + " = " + v + "\n")
		}
	}
}

// wgWord is how wg-quick(8) spells a key of ours; "" if it has none.
func wgWord(key string) string {
	for _, word := range []string{
		"PrivateKey", "Address", "ListenPort", "MTU", "FwMark", "Table", "DNS",
		"PublicKey", "PresharedKey", "Endpoint", "AllowedIPs", "PersistentKeepalive",
	} {
		if wgKeys[strings.ToLower(word)].key == key {
			return word
		}
	}
	return ""
}

// fromTOML writes a value as wg-quick(8) does: without quotes, lists with commas.
func fromTOML(v string) string {
	vals, err := decodeTOML("x = " + v + "\n")
	if err != nil {
		return v
	}
	list, ok := vals["x"].([]any)
	if !ok {
		return fmt.Sprint(vals["x"])
	}
	var parts []string
	for _, one := range list {
		parts = append(parts, fmt.Sprint(one))
	}
	return strings.Join(parts, ", ")
}
