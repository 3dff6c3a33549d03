package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/doctor"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/netcheck"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/bounded"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/control/rundir"
)

// toolTime bounds the time of each program that a bug report runs.
const toolTime = 5 * time.Second

// toolOutput bounds the output of each of these programs in bytes, because a host may have a
// million routes.
const toolOutput = 256 << 10

func bugreportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bugreport NAME|FILE",
		Short: "Print the facts for a bug report, without secrets",
		Long: `Print a report for somebody who helps you: versions, the configuration, the state
of the interface and its peers, events, the findings of doctor and netcheck, addresses and
routes of this host, and the latest lines of the service's journal.

Private and preshared keys are left out wherever the files have them. So are comments, all
words of a command but the first, the output of commands, lines that cannot be parsed, and
anything that looks like a key, unless it is a public key of the configuration. Passwords of
commands are left out everywhere. Addresses and names stay: read the report before you pass
it on.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE: func(_ *cobra.Command, args []string) error {
			// A name that looks like a key is refused, because the report passes the name to other
			// programs.
			if name := strings.ReplaceAll(args[0], "@", " "); keytext.Hide(name, nil) != name {
				return usagef("want a name or a file; this looks like a key")
			}
			_, err := os.Stdout.Write(writeReport(args[0]))
			return err
		},
	}
}

// bugReport is a bug report that is being written.
type bugReport struct {
	out    bytes.Buffer
	public map[string]bool // public keys
	secret map[string]bool // secret keys of this host's configurations
	pieces keytext.Pieces  // pieces of secret keys, and of other texts in the place of a secret key
	words  map[string]bool // secret words of the configuration, which are hidden everywhere
	shown  string          // the files as the report shows them
	unread bool            // the configuration cannot be read
}

// maxShownDropIns bounds the number of drop-in files in a report, because a fleet has thousands.
const maxShownDropIns = 64

// writeReport returns a bug report without secrets.
func writeReport(arg string) []byte {
	r := &bugReport{public: map[string]bool{}, secret: map[string]bool{}, words: map[string]bool{}}
	fmt.Fprintf(&r.out, "srdtun %s, %s, %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	plan, name, unit, wrong := r.configuration(arg)
	files := bytes.Clone(r.out.Bytes())
	r.out.Reset()
	if wrong != nil {
		fmt.Fprintln(&r.out, wrong)
	}
	if wrong != nil && r.unread {
		fmt.Fprintf(os.Stderr, "srdtun: the report lacks the configuration: %v%s\n", wrong, sudoHint(wrong))
	}
	r.section("doctor")
	writeFindings(&r.out, doctor.Judge(doctor.Look(), plan))
	// If the file is faulty, it does not give the name of the device.
	at, err := placeOf(arg)
	if err != nil {
		at = rundir.Place{Device: name}
	}
	r.events(at)
	r.state(at)
	for _, cmd := range [][]string{
		{"uname", "-a"}, {"ip", "-s", "link"}, {"ip", "addr"}, {"ip", "rule"}, {"ip", "route", "show", "table", "all"}, {"ip", "-6", "rule"},
	} {
		r.section("%q", cmd)
		_, _ = r.out.Write(output(cmd))
	}
	journal := []string{"journalctl", "--no-pager", "-n", "500", "-u", "srdtun@" + unit}
	r.section("%q", journal)
	_, _ = r.out.Write(withoutOthers(output(journal)))
	maps.DeleteFunc(r.public, func(key string, _ bool) bool { return r.secret[key] })
	text := append(files, r.scrubbed(withoutOutput(r.out.Bytes()))...)
	return redact([]byte(r.pieces.Hide(string(text))), r.public)
}

func (r *bugReport) section(format string, args ...any) {
	fmt.Fprintf(&r.out, "\n== "+format+"\n", args...)
}

// configuration writes the configuration files into the report. It returns the plan for package
// doctor, the names of the device and of the unit, and the first fault in the files.
func (r *bugReport) configuration(arg string) (plan doctor.Plan, device, unit string, wrong error) {
	plan = doctor.Plan{SourcePorts: config.DefaultSourcePorts, ListenPort: config.DefaultListenPort}
	r.section("configuration (without comments, secrets, words of commands, and lines that srdtun does not understand)")
	file, from, err := findFile(arg)
	if r.unread = err != nil; r.unread {
		return plan, arg, arg, err
	}
	device, unit = arg, strings.TrimSuffix(filepath.Base(file), suffix)
	c, err := loadFrom(file, from, nil)
	wrong = err
	if c != nil {
		plan, device = planOf(c), c.Interface.Name
		if with, _, err := config.WithDropIns(c); err == nil {
			c.Peers = with.Peers
		}
		for _, p := range c.Peers {
			r.public[p.PublicKey.String()] = true
		}
	}
	r.noteSecrets(file, from)
	text, err := bounded.Head(from, maxImport)
	r.unread = err != nil
	r.file(file, text, err, inPath, 1)
	if c != nil && c.PeersDir != "" {
		r.dropIns(c)
		_, wrong = config.CheckDropIns(c)
	}
	return plan, device, unit, wrong
}

// inPath reports whether a directory in PATH has a program with this name.
func inPath(name string) bool {
	_, err := exec.LookPath(name)
	return err == nil
}

// dropIns writes the drop-in files into the report. Drop-in files may belong to another user, and
// the reader may be root. So dropIns reads these files with the same checks as the daemon, and does
// not look up programs that they name.
func (r *bugReport) dropIns(c *config.Config) {
	texts, more, err := config.DropInTexts(c, maxShownDropIns)
	if err != nil {
		fmt.Fprintln(&r.out, err)
	}
	for _, f := range texts {
		r.file(f.File, f.Text, f.Err, func(string) bool { return false }, leastOfPeer)
	}
	if more > 0 {
		fmt.Fprintf(&r.out, "(and %d more in %s)\n", more, c.PeersDir)
	}
}

// leastOfPeer is the minimum length, in bytes, of a secret word of a drop-in file that the report
// hides everywhere. With a smaller minimum, the owner of the file could remove ordinary words from
// the report.
const leastOfPeer = 12

// file writes the text of a file without its secrets, or the error of reading the file. The report
// will hide the file's secret words of at least `least` bytes everywhere.
func (r *bugReport) file(name string, text []byte, err error, program func(string) bool, least int) {
	fmt.Fprintln(&r.out, name)
	if err != nil {
		fmt.Fprintln(&r.out, err)
		return
	}
	shown, words := config.Conceal(string(text), config.Known{
		Public:  r.isPublic,
		Program: program,
	})
	for _, w := range words {
		if len(w) >= least {
			r.words[w] = true
		}
	}
	r.shown += shown
	r.out.WriteString(shown)
}

func (r *bugReport) events(at rundir.Place) {
	r.section("events of %s", at)
	happened := eventReader{at: at, print: eventPrinter(&r.out, false)}
	if err := happened.read(); err != nil {
		fmt.Fprintln(&r.out, err)
	}
}

// state writes the state of a running interface into the report.
func (r *bugReport) state(at rundir.Place) {
	st, err := status(at)
	if err != nil {
		return
	}
	r.public[st.PublicKey] = true
	for i := range st.Peers {
		r.public[st.Peers[i].PublicKey] = true
		r.section("netcheck, peer %s", firstOf(st.Peers[i].Name, st.Peers[i].PublicKey))
		writeFindings(&r.out, netcheck.Judge(st, &st.Peers[i], nil, nil, deviceMTUs()))
	}
	r.section("show --json")
	text, err := json.MarshalIndent(st, "", " ")
	fmt.Fprintf(&r.out, "%s\n", orError(text, err))
}

func orError(text []byte, err error) []byte {
	if err != nil {
		return []byte(err.Error() + "\n")
	}
	return text
}

// output returns a program's output, bounded in time and size.
func output(cmd []string) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), toolTime)
	defer cancel()
	program := exec.CommandContext(ctx, cmd[0], cmd[1:]...)
	program.Env = append(os.Environ(), "LC_ALL=C") // so that the form of journal lines is known
	text, err := program.CombinedOutput()
	if len(text) > toolOutput {
		text = append(text[:toolOutput], "\n(and more)\n"...)
	}
	if err != nil {
		text = append(text, err.Error()+"\n"...)
	}
	return text
}
