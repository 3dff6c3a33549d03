package config

import "strings"

// write writes the imported configuration.
func (im *importer) write() {
	for _, s := range append([]*wgSection{im.iface}, im.peers...) {
		im.writeSection(s)
	}
	if len(im.tail) > 0 {
		im.put("", 0)
		im.putComments(im.tail)
	}
}

func (im *importer) writeSection(s *wgSection) {
	if im.out.Len() > 0 {
		im.put("", 0)
	}
	for _, block := range s.lead {
		im.putComments(block)
		im.put("", 0)
	}
	im.putComments(s.remarks)
	im.put(header(s.name), s.line)
	for _, f := range s.fields {
		for _, l := range f.lines() {
			im.put(l.text, l.line)
		}
	}
}

// lines returns the text lines of a key and its value. In a list of hook commands, each command has
// a separate line.
func (f *wgField) lines() []wgItem {
	head := f.key + " = "
	if f.value != "" {
		if f.remark != "" {
			return []wgItem{{head + f.value + " # " + f.remark, f.line}}
		}
		return []wgItem{{head + f.value, f.line}}
	}
	if len(f.items) == 0 {
		return nil
	}
	if wgHookKey(f.word) == "" || len(f.items) == 1 {
		var v []string
		for _, i := range f.items {
			v = append(v, i.text)
		}
		return []wgItem{{head + "[" + strings.Join(v, ", ") + "]", f.line}}
	}
	lines := []wgItem{{head + "[", f.line}}
	for _, i := range f.items {
		lines = append(lines, wgItem{"    " + i.text + ",", i.line})
	}
	return append(lines, wgItem{"]", f.line})
}

// put adds a line to the result. The argument `from` is the number of the corresponding line in
// the wg-quick file.
func (im *importer) put(text string, from int) {
	im.out.WriteString(text + "\n")
	im.from = append(im.from, from)
}

func (im *importer) putComments(texts []string) {
	for _, t := range texts {
		if !strings.HasPrefix(t, "#") { // the parser has removed the first "#" of "###"
			t = " " + t
		}
		im.put("#"+oneLine(t), 0)
	}
}
