package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os/exec"
	"time"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/hooks"
)

// Doubts returns likely mistakes in a valid configuration, given the present state of this host.
// Each returned warning is a line with file, line and key. A missing object, such as an
// interface, may still appear later. The start and the commands check, set and reload print the
// warnings of Doubts.
func Doubts(c *config.Config, now time.Time) []error {
	all := append(c.Doubts(now, config.HostAddresses()), doubtPrograms(c, "pre_up", c.Interface.Hooks.PreUp)...)
	all = append(all, doubtPrograms(c, "post_up", c.Interface.Hooks.PostUp)...)
	all = append(all, doubtEnd(c)...)
	for _, l := range loopLocals(c) {
		all = append(all, c.Doubt("paths", "local", "%s", onLoopback(l)))
	}
	for _, l := range missingLocals(c.Paths.Local) {
		why := "has no address here now"
		if _, err := netip.ParseAddr(l); err == nil {
			why = "is not an address of this host now"
		} else if _, err := net.InterfaceByName(l); err != nil {
			why = "has no address here, for this host has no such interface now"
		}
		all = append(all, c.Doubt("paths", "local", "%s %s; its paths begin when it has", l, why))
	}
	all = append(all, doubtTwins(c)...)
	if len(c.Interface.DNS) > 0 && toolOf() == noTool {
		all = append(all, c.Doubt("interface", "dns", "%v", errNoResolver))
	}
	return all
}

// onLoopback returns the warning about an entry of paths.local that names the loopback device.
func onLoopback(entry string) string {
	return entry + " belongs to the loopback device: packets from there never leave this host; want the interface or address that leads to the peers"
}

// doubtEnd checks the programs of pre_down and post_down. Without this check their faults would be
// reported only when the daemon stops.
func doubtEnd(c *config.Config) []error {
	return append(doubtPrograms(c, "pre_down", c.Interface.Hooks.PreDown), doubtPrograms(c, "post_down", c.Interface.Hooks.PostDown)...)
}

// doubtPrograms checks that the program of each command exists.
func doubtPrograms(c *config.Config, key string, commands [][]string) (all []error) {
	for _, argv := range commands {
		program := c.Command(argv)[0]
		path, err := exec.LookPath(program)
		if err == nil {
			err = hooks.Unable(path)
		}
		if err != nil {
			all = append(all, c.Doubt("interface", key, "%v", fmt.Errorf("this host cannot run %s: %w", keytext.Quote(program), bareExec(err))))
		}
	}
	return all
}

// bareExec removes the program's name from an error, because the message already contains the
// name.
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

// tellDoubts reports the warnings about c that the previous configuration did not cause. The method
// tellDoubts leaves out faults that prevent the start, and warnings that have an event of their
// own.
func (s *settings) tellDoubts(c, before *config.Config) {
	known := map[string]bool{}
	if before != nil {
		for _, d := range before.Doubts(s.clock(), nil) {
			known[d.Error()] = true
		}
	}
	doubts := c.Doubts(s.clock(), nil)
	if before == nil {
		doubts = append(doubts, doubtEnd(c)...)
	}
	for _, d := range doubts {
		if !known[d.Error()] {
			s.log.teller(config.OfGuest(d))(events.ConfigDoubt, d.Error(), "%v", d)
		}
	}
}

type outcome struct {
	diff   []config.Change
	want   *config.Config // the whole request, with expired peers and keys that need a restart
	faults []error        // of drop-in files
}

// mostWarned bounds the refused drop-in files that one reply lists.
const mostWarned = 20

// warnings returns the warnings for the client that requested a change. A reload returns all
// warnings of "srdtun check". A change of single keys returns the warnings that the change causes,
// and all warnings about its keys. For a change of single keys the warnings name no file, because
// no file contains the values.
func (s *settings) warnings(c control.Change, before *config.Config, done outcome) (v []string) {
	for _, f := range config.RootsFirst(done.faults)[:min(len(done.faults), mostWarned)] {
		v = append(v, f.Error())
	}
	if n := len(done.faults) - mostWarned; n > 0 {
		v = append(v, fmt.Sprintf("%d more files are left out", n))
	}
	doubts := Doubts(done.want, s.clock())
	if c.How == control.HowReload || c.How == control.HowSync {
		for _, d := range doubts {
			v = append(v, d.Error())
		}
		return v
	}
	known, asked := map[string]bool{}, map[string]bool{}
	for _, d := range Doubts(before, s.clock()) {
		known[withoutFile(d)] = true
	}
	settings := make([]config.Setting, len(c.Settings))
	for i, v := range c.Settings {
		settings[i] = config.Setting(v)
	}
	for _, v := range config.Named(done.want, settings) {
		asked[v.Key] = true
	}
	for _, d := range doubts {
		var e *config.Error
		if text := withoutFile(d); !known[text] || errors.As(d, &e) && asked[e.Where()] {
			v = append(v, text)
		}
	}
	return v
}

func withoutFile(doubt error) string {
	var e *config.Error
	if errors.As(doubt, &e) {
		return e.WithoutFile()
	}
	return doubt.Error()
}

// startWarnings returns the warnings of the start: warnings about the configuration, and the
// warning events so far. The method startWarnings leaves out events that repeat a warning of the
// configuration.
func (s *server) startWarnings() (v []string) {
	for _, d := range Doubts(s.running.cfg(), s.settings.clock()) {
		v = append(v, d.Error())
	}
	for _, e := range s.log.after(0).Events {
		if standing := e.Kind == events.RoutingLoop || e.Kind == events.OuterTaken; standing {
			continue // the command prints these from the status
		}
		if e.Level >= events.Warning && e.Kind != events.ConfigDoubt && e.Kind != events.LocalMissing {
			v = append(v, e.Text)
		}
	}
	return v
}
