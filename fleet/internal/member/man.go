package member

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/internal/manpage"
)

// manCommand writes the manual page of an agent, with all its commands. Packagers run the command
// man.
func manCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual page below a directory, as in /usr/share/man",
		Hidden: true,
		Args:   takes(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := filepath.Join(args[0], "man1")
			return errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(filepath.Join(dir, root.Name()+".1"), manPage(root), 0o644))
		},
	}
}

func manPage(root *cobra.Command) []byte {
	name := root.Name()
	p := manpage.New(name, "1", root.Short, root.Version)
	p.Section("SYNOPSIS")
	p.Verbatim(name + " COMMAND [OPTIONS] [ARGUMENTS]")
	p.Section("DESCRIPTION")
	p.Text(root.Long)
	for _, c := range root.Commands() {
		if !c.IsAvailableCommand() {
			continue
		}
		p.Section(strings.ToUpper(c.Name()))
		p.Verbatim(c.UseLine())
		if c.Long != "" {
			p.Text(c.Long)
		} else {
			p.Text(c.Short + ".")
		}
		p.Options(c.LocalFlags())
	}
	p.Section("FILES")
	for _, f := range [][2]string{
		{"/var/lib/srdtun-fleet/NAME", "the directory of drop-in peers that " + name + "@NAME.service keeps, for [peers] dir"},
		{"/etc/srdtun-fleet/NAME.env", "settings of the service: OPTIONS= and MEMBER="},
		{name + "@NAME.service", "runs join under systemd, as the user _srdtun-fleet-NAME, the [peers] owner"},
	} {
		fmt.Fprintf(p, ".TP\n\\fI%s\\fR\n%s\n", manpage.Roff(f[0]), manpage.Roff(f[1]))
	}
	p.SeeAlso("srdtun(1)", "srdtun.toml(5)")
	return p.Bytes()
}
