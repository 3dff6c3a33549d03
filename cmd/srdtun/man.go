package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/manpage"
)

// manCommand returns the command man, which packagers run. It writes the manual pages from the
// texts of --help and init. Cobra's own generator is not used, because it needs a Markdown module,
// and would add four modules to the daemon.
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
			// The command creates only one directory level, because a longer missing path is
			// probably a mistake.
			if err := os.Mkdir(args[0], 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
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

// page is a manual page that is being written.
type page struct{ *manpage.Page }

func newPage(name, section, what string) *page {
	return &page{manpage.New(name, section, what, version)}
}

// keys describes the keys of a configuration, section by section.
func (p *page) keys(keys []config.KeyInfo) {
	p.Section("KEYS")
	section := ""
	for _, k := range keys {
		if k.Section != section {
			section = k.Section
			fmt.Fprintf(p, ".SS %s\n", manpage.Roff(section))
		}
		when := "restart"
		if k.Live {
			when = "live"
		}
		fmt.Fprintf(p, ".TP\n\\fB%s\\fR = %s\n%s Default: %s. (%s)\n", manpage.Roff(k.Name), manpage.Roff(k.Value),
			manpage.Roff(strings.ReplaceAll(k.Meaning, "`", "")), manpage.Roff(k.Default), when)
	}
}

func manPage(c *cobra.Command) []byte {
	c.InitDefaultHelpFlag()
	p := newPage("srdtun-"+c.Name(), "1", c.Short)
	p.Section("SYNOPSIS")
	p.Verbatim(c.UseLine())
	p.Section("DESCRIPTION")
	if c.Long != "" {
		p.Text(c.Long)
	} else {
		p.Text(c.Short + ".")
	}
	p.Flags(c.LocalFlags())
	p.SeeAlso("srdtun(1)", "srdtun.toml(5)")
	return p.Bytes()
}

func manOverview(root *cobra.Command) []byte {
	p := newPage("srdtun", "1", root.Short)
	p.Section("SYNOPSIS")
	p.Verbatim("srdtun COMMAND [ARGUMENTS]")
	p.Section("DESCRIPTION")
	p.Text(root.Long)
	p.Section("COMMANDS")
	also := []string{"srdtun.toml(5)", "systemd(1)", "wg(8)"}
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n%s\n", manpage.Roff(c.Use), manpage.Roff(c.Short))
			also = append(also, "srdtun-"+c.Name()+"(1)")
		}
	}
	p.Section("FILES")
	for _, f := range [][2]string{
		{defaultConfigDir + "/NAME.toml", "the configuration of interface NAME, see srdtun.toml(5)"},
		{"/run/srdtun/NAME.sock", "the control socket; a service has it in /run/srdtun/SERVICE, for the group srdtun"},
		{"/run/srdtun/NAME.peers", "the last addresses of peers without endpoints, for the next process; srdtun down removes it. A service has it in /var/lib/private/srdtun/SERVICE"},
		{"srdtun@NAME.service", "runs it under systemd, as the user srdtun-NAME: systemctl enable --now srdtun@NAME"},
	} {
		fmt.Fprintf(p, ".TP\n\\fI%s\\fR\n%s\n", manpage.Roff(f[0]), manpage.Roff(f[1]))
	}
	p.SeeAlso(also...)
	return p.Bytes()
}

func manFormat() ([]byte, error) {
	text, err := config.Template("NAME")
	if err != nil {
		return nil, err
	}
	p := newPage("srdtun.toml", "5", "configuration of an srdtun interface")
	p.Section("DESCRIPTION")
	p.Text("A file in TOML describes one interface and its peers. Parsing is strict: any error stops the start, " +
		"with one line that names file, line and key. A list with one member may be written as a single string.\n\n" +
		"A change of a live key takes effect while the interface runs, by srdtun reload, systemctl reload or srdtun set. " +
		"A change of any other key is reported, and takes effect at the next start.")
	p.keys(config.Keys())
	p.Section("EXAMPLE")
	p.Text("This is what srdtun init NAME writes. A line that begins with # and a key shows the default.")
	p.Verbatim(strings.TrimRight(keytext.Shape.ReplaceAllString(string(text), "BASE64KEY"), "\n"))
	p.SeeAlso("srdtun(1)", "srdtun-init(1)", "srdtun-check(1)")
	return p.Bytes(), nil
}
