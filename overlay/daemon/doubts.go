package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd/udp"
)

// Doubts are what looks like a mistake in a configuration that is right, here and now: one
// line each, with file, line and key. What it names may come later, as an interface may.
func Doubts(c *config.Config) []error {
	all := append(c.Doubts(), doubtPrograms(c, "pre_up", c.Interface.Hooks.PreUp)...)
	all = append(all, doubtPrograms(c, "post_up", c.Interface.Hooks.PostUp)...)
	all = append(all, doubtEnd(c)...)
	for _, l := range c.Paths.Local {
		if _, err := net.InterfaceByName(l.Interface); l.Interface != "" && err != nil {
			all = append(all, c.Doubt("paths", "local", "this host has no interface %s now", l.Interface))
		}
		if l.Addr.IsValid() && l.Addr.Zone() == "" && !udp.HasAddress(l.Addr) {
			all = append(all, c.Doubt("paths", "local", "this host does not have the address %s now", l.Addr))
		}
	}
	if len(c.Interface.DNS) > 0 && toolOf() == noTool {
		all = append(all, c.Doubt("interface", "dns", "%v", errNoResolver))
	}
	return all
}

// doubtEnd looks at the commands of the end, of which nothing else tells before it comes.
func doubtEnd(c *config.Config) []error {
	return append(doubtPrograms(c, "pre_down", c.Interface.Hooks.PreDown), doubtPrograms(c, "post_down", c.Interface.Hooks.PostDown)...)
}

// doubtPrograms looks for the programs of commands.
func doubtPrograms(c *config.Config, key string, commands [][]string) (all []error) {
	for _, argv := range commands {
		program := c.Command(argv)[0]
		if _, err := exec.LookPath(program); err != nil {
			all = append(all, c.Doubt("interface", key, "%v", fmt.Errorf("this host cannot run %.64q: %w", program, bareExec(err))))
		}
	}
	return all
}

// bareExec drops the program's name, which the reader has seen already.
func bareExec(err error) error {
	var program *exec.Error
	if errors.As(err, &program) {
		err = program.Err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err
}

// tellDoubts tells what a configuration leaves doubts about, but for what before did too.
// What ends the start, or has an event of its own, is left to that.
func (s *settings) tellDoubts(c, before *config.Config) {
	known := map[string]bool{}
	if before != nil {
		for _, d := range before.Doubts() {
			known[d.Error()] = true
		}
	}
	doubts := c.Doubts()
	if before == nil {
		doubts = append(doubts, doubtEnd(c)...)
	}
	for _, d := range doubts {
		if !known[d.Error()] {
			s.log.tell(events.ConfigDoubt, d.Error(), "%v", d)
		}
	}
}
