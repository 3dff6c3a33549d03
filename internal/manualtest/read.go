// Package manualtest finds the commands in the documents, for tests that check these commands
// against the programs.
package manualtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Documents returns the text of every Markdown file below folder top. The keys of the map are
// names relative to top.
func Documents(top string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(top, file)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (name == "bin" || name == "out" || name != "." && strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".md"):
			return nil
		}
		b, err := os.ReadFile(file)
		all[filepath.ToSlash(name)] = string(b)
		return err
	})
	return all, err
}

// Block is a block of code: lines with an indentation of four spaces, or lines between fences.
type Block struct {
	Doc   string
	Text  string // without the indentation
	Fence bool
}

// First returns the block's first line, which identifies the block in Table.
func (b Block) First() string {
	line, _, _ := strings.Cut(b.Text, "\n")
	return strings.TrimRight(line, " ")
}

const indent = "    "

// Split splits a document into its blocks of code and its paragraphs, each as one string.
func Split(doc, text string) (blocks []Block, paragraphs []string) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		switch line := lines[i]; {
		case strings.HasPrefix(line, "```"):
			from := i + 1
			for i++; i < len(lines) && !strings.HasPrefix(lines[i], "```"); i++ {
			}
			blocks = append(blocks, Block{doc, strings.Join(lines[from:min(i, len(lines))], "\n"), true})
		case strings.HasPrefix(line, indent):
			var v []string
			for ; i < len(lines) && (strings.HasPrefix(lines[i], indent) || lines[i] == ""); i++ {
				v = append(v, strings.TrimPrefix(lines[i], indent))
			}
			i--
			blocks = append(blocks, Block{doc, strings.TrimRight(strings.Join(v, "\n"), "\n"), false})
		case line != "":
			from := i
			for ; i < len(lines) && lines[i] != "" && !strings.HasPrefix(lines[i], "```"); i++ {
			}
			paragraphs = append(paragraphs, strings.Join(lines[from:i], "\n"))
			i--
		}
	}
	return blocks, paragraphs
}

// Line is a line of commands in a document.
type Line struct {
	Doc   string
	Text  string
	Block bool // the line is from a block of code, not a span within a sentence
}

var (
	span      = regexp.MustCompile("`([^`]+)`")
	continued = regexp.MustCompile(`\s*\\\n\s*`)
	column    = regexp.MustCompile(` {2,}`)
	comment   = regexp.MustCompile(`(^|\s)#.*`)
	output    = regexp.MustCompile(`(?m)^(\S.*?) +# "(.*)"`)
)

// Lines returns the lines of a document that may be commands: spans of code, and the lines of
// blocks. In blocks, lines that end in backslashes are joined, and comments are removed. Text
// after two spaces counts as a separate line, because such text is another command or an
// explanation.
func Lines(doc, text string) (v []Line) {
	blocks, paragraphs := Split(doc, text)
	for _, p := range paragraphs {
		for _, m := range span.FindAllStringSubmatch(p, -1) {
			v = append(v, Line{doc, strings.Join(strings.Fields(m[1]), " "), false})
		}
	}
	for _, b := range blocks {
		v = append(v, b.Lines()...)
	}
	return v
}

// Lines returns the lines of a block that may be commands.
func (b Block) Lines() (v []Line) {
	for _, line := range strings.Split(continued.ReplaceAllString(b.Text, " "), "\n") {
		for _, piece := range column.Split(comment.ReplaceAllString(line, ""), -1) {
			if piece = strings.TrimSpace(piece); piece != "" {
				v = append(v, Line{b.Doc, piece, true})
			}
		}
	}
	return v
}

// Output returns the documented output of the commands in a block: the quoted words in the
// comment after each command.
func (b Block) Output() map[string]string {
	v := map[string]string{}
	for _, m := range output.FindAllStringSubmatch(b.Text, -1) {
		v[m[1]] = m[2]
	}
	return v
}
