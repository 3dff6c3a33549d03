package results

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/srdtun/srdtun/bench/markdown"
)

// table is one table of the document, in its stored form.
type table struct {
	Date    string `json:"date"`    // date of the measurement
	Machine string `json:"machine"` // empty for results in virtual time, which are the same on any machine
	Version string `json:"version"` // version of srdtun
	Command string `json:"command"` // command that measures the table again
	// Carried is a link, relative to docs/, to the document from which the values were copied. If
	// Carried is empty, the values were measured by the field Command.
	Carried string     `json:"carried,omitempty"`
	Note    string     `json:"note,omitempty"`
	Head    []string   `json:"head"`
	Rows    [][]string `json:"rows"`
}

const suffix = ".json"

// load reads all stored tables, keyed by name.
func load(dir string) (map[string]*table, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*"+suffix))
	if err != nil {
		return nil, err
	}
	all := map[string]*table{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		t := &table{}
		if err := json.Unmarshal(b, t); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), suffix)] = t
	}
	return all, nil
}

// save writes the table to the file of its name.
func (t *table) save(dir, name string) error {
	b, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, name+suffix), append(b, '\n'), 0o644)
}

// write appends the table in Markdown, and a line that names its source.
func (t *table) write(b *strings.Builder) {
	markdown.Table(b, t.Head, t.Rows)
	b.WriteString("\n")
	if t.Note != "" {
		b.WriteString(t.Note + " ")
	}
	machine := t.Machine
	if machine == "" {
		machine = "virtual time"
	}
	fmt.Fprintf(b, "This table was measured on %s (%s) by `%s`", t.Date, machine, t.Command)
	if t.Version != "" {
		fmt.Fprintf(b, " with version %s", t.Version)
	}
	if t.Carried != "" {
		fmt.Fprintf(b, ", and copied from [%s](%s)", carriedName(t.Carried), t.Carried)
	}
	b.WriteString(".\n")
}

// carriedName returns the text of a link to a document.
func carriedName(link string) string {
	return strings.TrimSuffix(filepath.Base(link), ".md")
}
