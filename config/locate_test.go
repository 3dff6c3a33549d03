package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	"pgregory.net/rapid"
)

// writer generates a document, and records the line number of each key and element.
type writer struct {
	t    *rapid.T
	text strings.Builder
	line int
	next int            // number of the next key, so that each name is used once
	want map[string]int // line number of each place, which is the path of a key or element
}

func (w *writer) put(s string) {
	w.text.WriteString(s)
	w.line += strings.Count(s, "\n")
}

func (w *writer) pick(of ...string) string { return rapid.SampledFrom(of).Draw(w.t, "pick") }

func (w *writer) chance(of int) bool { return rapid.IntRange(1, of).Draw(w.t, "chance") == 1 }

func (w *writer) end() {
	w.put(w.pick("\n", "\r\n", " # '\"[{\n", "\n\n", "\n\t# [x]\r\n", " #\n#a = 1\n"))
}

// gap returns text that may separate the parts of an array.
func (w *writer) gap() {
	w.put(w.pick("", " ", "\t", "\n", "\r\n", " # ] }\n", "\n\n\n", "#\"\n"))
}

// key writes a key in one of its TOML spellings, and returns its name.
func (w *writer) key() string {
	w.next++
	name := fmt.Sprintf("k%d", w.next)
	switch w.pick("bare", "single", "double", "escaped", "odd", "bracket") {
	case "single":
		w.put("'" + name + "'")
	case "double":
		w.put(`"` + name + `"`)
	case "escaped":
		w.put(fmt.Sprintf(`"\u%04x\x%02X%s"`, 'k', name[1], name[2:]))
	case "odd":
		name += ".é \t"
		w.put(`"` + fmt.Sprintf("k%d", w.next) + `.\U000000e9 \t"`)
	case "bracket":
		name += "]=#"
		w.put("'" + name + "'")
	default:
		w.put(name)
	}
	return name
}

// value writes a value at the given place.
func (w *writer) value(place string, depth int) {
	kinds := []string{"1", "-2.5e3", "true", "1979-05-27 07:32:00", "07:32:00", "0xdead_beef", "nan",
		`"a\"#]b\\"`, `'a"\'`, `""`, `''`,
		"\"\"\"\n a \\\" \"\" b\\\n  c\n\"\"\"", "\"\"\"x\"\"\"\"\"", "'''\n'' \\\n]'''", "''''a'''''", "array", "inline"}
	if depth > 2 {
		kinds = kinds[:len(kinds)-2]
	}
	switch kind := w.pick(kinds...); kind {
	case "array":
		w.array(place, depth+1)
	case "inline":
		w.inline(place, depth+1)
	default:
		w.put(kind)
	}
}

func (w *writer) array(place string, depth int) {
	w.put("[")
	n := rapid.IntRange(0, 4).Draw(w.t, "elements")
	for i := range n {
		w.gap()
		at := fmt.Sprintf("%s/%d", place, i)
		w.want[at] = w.line
		w.value(at, depth)
		w.gap()
		if i < n-1 || w.chance(2) {
			w.put(",")
		}
	}
	w.gap()
	w.put("]")
}

func (w *writer) inline(place string, depth int) {
	w.put("{")
	n := rapid.IntRange(0, 3).Draw(w.t, "pairs")
	for i := range n {
		w.put(w.pick("", " "))
		w.pair(place, depth)
		w.put(w.pick("", " "))
		if i < n-1 {
			w.put(",")
		}
	}
	w.put("}")
}

func (w *writer) pair(place string, depth int) {
	at := place
	for parts := rapid.IntRange(1, 2).Draw(w.t, "parts"); parts > 0; parts-- {
		at += "/" + w.key()
		w.want[at] = w.line
		if parts > 1 {
			w.put(w.pick(".", " . "))
		}
	}
	w.put(w.pick("=", " = ", "\t="))
	w.value(at, depth)
}

func (w *writer) document() {
	arrays := map[string]int{}
	for range rapid.IntRange(0, 3).Draw(w.t, "top keys") {
		w.pair("", 0)
		w.end()
	}
	for range rapid.IntRange(0, 5).Draw(w.t, "sections") {
		place := ""
		if name := w.pick("table", "peer", "[peer]"); name == "table" {
			w.put("[")
			line := w.line
			place = "/" + w.key()
			w.want[place] = line
			w.put("]")
		} else {
			name = strings.Trim(name, "[]")
			place = fmt.Sprintf("/%s/%d", name, arrays[name])
			w.want[place] = w.line
			arrays[name]++
			w.put("[[" + w.pick(name, " "+name+" ", `"`+name+`"`) + "]]")
		}
		w.end()
		for range rapid.IntRange(0, 4).Draw(w.t, "keys") {
			w.put(w.pick("", "  "))
			w.pair(place, 0)
			w.end()
		}
	}
}

// places lists every key and element of a tree with its line.
func places(m *mark, x lineIndex, place string, into map[string]int) {
	for name, part := range m.keys {
		at := place + "/" + name
		into[at] = x.line(part.off)
		places(part, x, at, into)
	}
	for i, part := range m.items {
		at := fmt.Sprintf("%s/%d", place, i)
		into[at] = x.line(part.off)
		places(part, x, at, into)
	}
}

func TestLocateGeneratedDocuments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &writer{t: t, line: 1, want: map[string]int{}}
		w.document()
		doc := w.text.String()
		var vals map[string]any
		if _, err := toml.Decode(doc, &vals); err != nil {
			t.Fatalf("the decoder refuses it: %v\n%s", err, doc)
		}
		found := locate(doc)
		if found.deep >= 0 || found.twice.off >= 0 {
			t.Fatalf("got %+v for\n%s", found, doc)
		}
		got := map[string]int{}
		places(found.root, newLineIndex(doc), "", got)
		delete(got, "/peer") // the array of tables itself, of which only the elements count
		for place, line := range w.want {
			if got[place] != line {
				t.Fatalf("%q in line %d, want %d\n%s", place, got[place], line, doc)
			}
			delete(got, place)
		}
		if len(got) > 0 {
			t.Fatalf("places that are not there: %v\n%s", got, doc)
		}
		if why := mismatch(vals, found.root); why != "" {
			t.Fatalf("%s\n%s", why, doc)
		}
	})
}

// mismatch compares the structure of a decoded document with that of its marks, and returns the
// first difference.
func mismatch(v any, m *mark) string {
	switch v := v.(type) {
	case map[string]any:
		for name, part := range v {
			if m.keys[name] == nil {
				return fmt.Sprintf("no mark for the key %q", name)
			}
			if why := mismatch(part, m.keys[name]); why != "" {
				return why
			}
		}
		if len(m.keys) != len(v) || len(m.items) != 0 {
			return fmt.Sprintf("%d keys and %d elements marked in a table of %d", len(m.keys), len(m.items), len(v))
		}
	case []map[string]any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return mismatch(list, m)
	case []any:
		if len(m.items) != len(v) || len(m.keys) != 0 {
			return fmt.Sprintf("%d elements marked of %d", len(m.items), len(v))
		}
		for i, part := range v {
			if why := mismatch(part, m.items[i]); why != "" {
				return why
			}
		}
	default:
		if len(m.keys)+len(m.items) != 0 {
			return "marks in a single value"
		}
	}
	return ""
}

func TestLineIndex(t *testing.T) {
	doc := "a\n\nb\r\nc"
	x := newLineIndex(doc)
	for off := 0; off <= len(doc); off++ {
		if got, want := x.line(off), 1+strings.Count(doc[:off], "\n"); got != want {
			t.Errorf("offset %d is in line %d, want %d", off, got, want)
		}
	}
}
