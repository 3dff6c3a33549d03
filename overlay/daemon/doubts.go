package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os/exec"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/srd/udp"
)

// Doubts returns likely mistakes in a valid configuration on this host now. Each is a line
// with file, line and key. A missing thing, such as an interface, may still appear later.
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

// doubtEnd checks the commands that run at the end. Without this check, their faults would
// be reported only at the end.
func doubtEnd(c *config.Config) []error {
	return append(doubtPrograms(c, "pre_down", c.Interface.Hooks.PreDown), doubtPrograms(c, "post_down", c.Interface.Hooks.PostDown)...)
}

// doubtPrograms checks that the programs of commands exist.
func doubtPrograms(c *config.Config, key string, commands [][]string) (all []error) {
	for _, argv := range commands {
		program := c.Command(argv)[0]
		if _, err := exec.LookPath(program); err != nil {
			all = append(all, c.Doubt("interface", key, "%v", fmt.Errorf("this host cannot run %s: %w", keytext.Quote(program), bareExec(err))))
		}
	}
	return all
}

// bareExec removes the program's name from an error, because the message already contains
// it.
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

// tellDoubts reports the doubts about c, without the doubts that before raised already. It
// leaves out doubts that prevent the start, or that have their own event.
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
