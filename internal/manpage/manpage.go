// Package manpage writes manual pages in man(7).
package manpage

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
)

// Page is a manual page being written, in man(7).
type Page struct{ bytes.Buffer }

// New begins the page of one program in srdtun's manual, for this version.
func New(name, section, what, version string) *Page {
	p := &Page{}
	fmt.Fprintf(p, ".TH %s %s \"\" \"srdtun %s\" \"srdtun manual\"\n", Roff(strings.ToUpper(name)), section, Roff(version))
	p.Section("NAME")
	fmt.Fprintf(p, "%s \\- %s\n", Roff(name), Roff(strings.TrimSuffix(what, ".")))
	return p
}

// Section writes the heading of a section.
func (p *Page) Section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// Text writes paragraphs. Indented lines are kept unchanged.
func (p *Page) Text(s string) {
	for block := range strings.SplitSeq(strings.TrimSpace(s), "\n\n") {
		if strings.HasPrefix(block, " ") {
			p.Verbatim(block)
		} else {
			fmt.Fprintf(p, ".PP\n%s\n", Roff(block))
		}
	}
}

// Verbatim writes lines unchanged.
func (p *Page) Verbatim(s string) { fmt.Fprintf(p, ".PP\n.nf\n%s\n.fi\n", Roff(s)) }

// Flags writes a section with the options in `flags`. Without options, Flags writes
// nothing.
func (p *Page) Flags(flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.Section("OPTIONS")
	p.Options(flags)
}

// Options lists options without a heading.
func (p *Page) Options(flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		arg, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if arg != "" {
			name += " " + arg
		}
		fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n%s\n", Roff(name), Roff(usage))
	})
}

// Roff escapes characters that man(7) would treat as a request or as special.
func Roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

// SeeAlso writes a section that names other manual pages.
func (p *Page) SeeAlso(pages ...string) {
	p.Section("SEE ALSO")
	fmt.Fprintf(p, "%s\n", Roff(strings.Join(pages, ", ")))
}
