package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/srdtun/srdtun/config"
)

// manCommand writes the manual pages, from what --help and init print. It is for whoever
// makes packages. (cobra's own writer goes by way of Markdown, and would add four modules
// to the daemon's.)
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages below a directory, as in /usr/share/man",
		Hidden: true,
		Args:   takes(1, 1),
		RunE: func(_ *cobra.Command, args []string) error {
			pages := map[string][]byte{"srdtun.1": manOverview(root)}
			for _, c := range root.Commands() {
				if c.IsAvailableCommand() {
					pages["srdtun-"+c.Name()+".1"] = manPage(c)
				}
			}
			var err error
			if pages["srdtun.toml.5"], err = manFormat(); err != nil {
				return err
			}
			for name, text := range pages {
				dir := filepath.Join(args[0], "man"+strings.TrimPrefix(filepath.Ext(name), "."))
				if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, name), text, 0o644)); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// page is a manual page being written, in man(7).
type page struct{ bytes.Buffer }

func newPage(name, section, what string) *page {
	p := &page{}
	fmt.Fprintf(p, ".TH %s %s \"\" \"srdtun %s\" \"srdtun manual\"\n", roff(strings.ToUpper(name)), section, roff(version))
	p.section("NAME")
	fmt.Fprintf(p, "%s \\- %s\n", roff(name), roff(strings.TrimSuffix(what, ".")))
	return p
}

func (p *page) section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// text writes paragraphs. Indented lines stay as they are.
func (p *page) text(s string) {
	for block := range strings.SplitSeq(strings.TrimSpace(s), "\n\n") {
		if strings.HasPrefix(block, " ") {
			p.verbatim(block)
		} else {
			fmt.Fprintf(p, ".PP\n%s\n", roff(block))
		}
	}
}

func (p *page) verbatim(s string) { fmt.Fprintf(p, ".PP\n.nf\n%s\n.fi\n", roff(s)) }

// keys lists the keys of a configuration, a part for each section.
func (p *page) keys(keys []config.KeyInfo) {
	p.section("KEYS")
	section := ""
	for _, k := range keys {
		if k.Section != section {
			section = k.Section
			fmt.Fprintf(p, ".SS %s\n", roff(section))
		}
		when := "restart"
		if k.Live {
			when = "live"
		}
		fmt.Fprintf(p, ".TP\n\\fB%s\\fR = %s\n%s Default: %s. (%s)\n", roff(k.Name), roff(k.Value),
			roff(strings.ReplaceAll(k.Meaning, "`", "")), roff(k.Default), when)
	}
}

func (p *page) flags(flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.section("OPTIONS")
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
		fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n%s\n", roff(name), roff(usage))
	})
}

// roff escapes what man(7) would take for a request or a special character.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}

func manPage(c *cobra.Command) []byte {
	c.InitDefaultHelpFlag()
	p := newPage("srdtun-"+c.Name(), "1", c.Short)
	p.section("SYNOPSIS")
	p.verbatim(c.UseLine())
	p.section("DESCRIPTION")
	if c.Long != "" {
		p.text(c.Long)
	} else {
		p.text(c.Short + ".")
	}
	p.flags(c.LocalFlags())
	p.seeAlso("srdtun(1)", "srdtun.toml(5)")
	return p.Bytes()
}

func manOverview(root *cobra.Command) []byte {
	p := newPage("srdtun", "1", root.Short)
	p.section("SYNOPSIS")
	p.verbatim("srdtun COMMAND [ARGUMENTS]")
	p.section("DESCRIPTION")
	p.text(root.Long)
	p.section("COMMANDS")
	also := []string{"srdtun.toml(5)", "systemd(1)", "wg(8)"}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n%s\n", roff(c.Use), roff(c.Short))
			also = append(also, "srdtun-"+c.Name()+"(1)")
		}
	}
	p.section("FILES")
	for _, f := range [][2]string{
		{defaultConfigDir + "/NAME.toml", "the configuration of interface NAME, see srdtun.toml(5)"},
		{"/run/srdtun/NAME.sock", "the control socket; that of a service is /run/srdtun/SERVICE/NAME.sock, and for the group srdtun"},
		{"/run/srdtun/NAME.peers", "where peers were that no endpoint leads to, for the next process; srdtun down removes it. A service has it in /var/lib/private/srdtun/SERVICE"},
		{"srdtun@NAME.service", "runs it under systemd, as the user srdtun-NAME: systemctl enable --now srdtun@NAME"},
	} {
		fmt.Fprintf(p, ".TP\n\\fI%s\\fR\n%s\n", roff(f[0]), roff(f[1]))
	}
	p.seeAlso(also...)
	return p.Bytes()
}

func (p *page) seeAlso(pages ...string) {
	p.section("SEE ALSO")
	fmt.Fprintf(p, "%s\n", roff(strings.Join(pages, ", ")))
}

// aKey is a key in base64: each file that init writes has another one.
var aKey = regexp.MustCompile(`[A-Za-z0-9+/]{43}=`)

func manFormat() ([]byte, error) {
	text, err := config.Template("NAME")
	if err != nil {
		return nil, err
	}
	p := newPage("srdtun.toml", "5", "configuration of an srdtun interface")
	p.section("DESCRIPTION")
	p.text("A file in TOML describes one interface and its peers. Parsing is strict: any error stops the start, " +
		"with one line that names file, line and key. A list with one member may be written as a single string.\n\n" +
		"A change of a key that is live counts while the interface runs, by srdtun reload, by systemctl reload or by " +
		"srdtun set; a change of any other is named, and counts at the next start.")
	p.keys(config.Keys())
	p.section("EXAMPLE")
	p.text("This is what srdtun init NAME writes. A line that begins with # and a key shows the default.")
	p.verbatim(strings.TrimRight(aKey.ReplaceAllString(string(text), "BASE64KEY"), "\n"))
	p.seeAlso("srdtun(1)", "srdtun-init(1)", "srdtun-check(1)")
	return p.Bytes(), nil
}
