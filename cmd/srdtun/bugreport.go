package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/doctor"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/netcheck"
	"github.com/srdtun/srdtun/config"
	"golang.org/x/sys/unix"
)

// toolTime bounds each program whose output is part of a report.
const toolTime = 5 * time.Second

// toolOutput bounds the output of each, in bytes: a host may have a million routes.
const toolOutput = 256 << 10

func bugreportCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bugreport NAME|FILE",
		Short: "Print all that whoever helps needs to know, without secrets",
		Long: `Print all that whoever helps needs to know: versions, the configuration, the state
of the interface and its peers, what happened, what doctor and netcheck say, addresses
and routes of this host, and the latest lines of the service's journal. Private and
preshared keys are left out wherever the files have them, and so are comments, all words
of commands but the first, lines that are not understood, and everything that looks like
a key and is no public key of the configuration. Addresses and names are not: read it
before you pass it on.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE: func(_ *cobra.Command, args []string) error {
			_, err := os.Stdout.Write(writeReport(args[0]))
			return err
		},
	}
}

// secretShape is what may be a key wherever it stands: 40 or more characters of base64 in
// either alphabet, and so 64 of hexadecimal too.
var secretShape = regexp.MustCompile(`[A-Za-z0-9+/]{40,}={0,2}|[A-Za-z0-9_-]{40,}={0,2}`)

// hidden stands in place of what is left out.
const hidden = "(hidden)"

// redact takes out what has the shape of a key and is not public. The configuration has gone
// by place before (config.Conceal); this is for what stands elsewhere: in a log, a message,
// an environment.
func redact(text []byte, public map[string]bool) []byte {
	return secretShape.ReplaceAllFunc(text, func(k []byte) []byte {
		if public[string(k)] {
			return k
		}
		return []byte(hidden)
	})
}

// bugReport is a report while it is written.
type bugReport struct {
	out    bytes.Buffer
	public map[string]bool // public keys
	words  map[string]bool // what the configuration had to hide
}

// maxShownDropIns bounds how many drop-in files are shown: a fleet has thousands.
const maxShownDropIns = 64

// leastWord is how short a hidden word may be to be looked for elsewhere: shorter ones are
// parts of everything.
const leastWord = 5

// writeReport returns a report without secrets.
func writeReport(arg string) []byte {
	r := &bugReport{public: map[string]bool{}, words: map[string]bool{}}
	fmt.Fprintf(&r.out, "srdtun %s, %s, %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	plan, name, unit := r.configuration(arg)
	r.section("doctor")
	writeFindings(&r.out, doctor.Judge(doctor.Look(), plan))
	// A file that is wrong by now does not name the device.
	if device, err := interfaceName(arg); err == nil {
		name = device
	}
	r.events(name)
	r.state(name)
	for _, cmd := range [][]string{
		{"uname", "-a"}, {"ip", "-s", "link"}, {"ip", "addr"}, {"ip", "rule"}, {"ip", "route", "show", "table", "all"}, {"ip", "-6", "rule"},
	} {
		r.section("%q", cmd)
		_, _ = r.out.Write(output(cmd))
	}
	journal := []string{"journalctl", "--no-pager", "-n", "500", "-u", "srdtun@" + unit}
	r.section("%q", journal)
	_, _ = r.out.Write(r.scrubbed(output(journal)))
	return redact(r.out.Bytes(), r.public)
}

func (r *bugReport) section(format string, args ...any) {
	fmt.Fprintf(&r.out, "\n== "+format+"\n", args...)
}

// configuration writes the files, and returns what is planned, and the names of the device
// and of the service's unit.
func (r *bugReport) configuration(arg string) (plan doctor.Plan, device, unit string) {
	plan = doctor.Plan{SourcePorts: config.DefaultSourcePorts, ListenPort: config.DefaultListenPort}
	r.section("configuration (without comments, secrets, words of commands, and what is not understood)")
	file, from, err := configFile(arg)
	if err != nil {
		fmt.Fprintln(&r.out, err)
		return plan, arg, arg
	}
	device, unit = arg, strings.TrimSuffix(filepath.Base(file), suffix)
	c, wrong := load(arg)
	if c != nil {
		plan, device = planOf(c), c.Interface.Name
		if with, _, err := config.WithDropIns(c); err == nil {
			c.Peers = with.Peers
		}
		for _, p := range c.Peers {
			r.public[p.PublicKey.String()] = true
		}
		// Whoever has put one for the other has a file that is right.
		delete(r.public, c.Interface.PrivateKey.Reveal())
		for _, p := range c.Peers {
			delete(r.public, p.PresharedKey.Reveal())
		}
	}
	r.file(file, from)
	if c != nil && c.PeersDir != "" {
		files, _ := filepath.Glob(filepath.Join(c.PeersDir, "*"+suffix))
		for _, f := range files[:min(len(files), maxShownDropIns)] {
			r.file(f, f)
		}
		if n := len(files) - maxShownDropIns; n > 0 {
			fmt.Fprintf(&r.out, "(and %d more in %s)\n", n, c.PeersDir)
		}
		_, wrong = config.CheckDropIns(c)
	}
	if wrong != nil {
		_, _ = r.out.Write(r.scrubbed([]byte(wrong.Error() + "\n")))
	}
	return plan, device, unit
}

// file writes a file as a stranger may see it.
func (r *bugReport) file(name, from string) {
	fmt.Fprintln(&r.out, name)
	text, err := readRegular(from, maxImport)
	if err != nil {
		fmt.Fprintln(&r.out, err)
		return
	}
	shown, words := config.Conceal(string(text), config.Known{
		Public:  func(key string) bool { return r.public[key] },
		Program: func(name string) bool { _, err := exec.LookPath(name); return err == nil },
	})
	for _, w := range words {
		if len(w) >= leastWord {
			r.words[w] = true
		}
	}
	r.out.WriteString(shown)
}

// readRegular reads the beginning of a regular file: not to wait for a named pipe.
func readRegular(file string, most int64) ([]byte, error) {
	f, err := os.OpenFile(file, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s: not a regular file", file))
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// scrubbed takes out words of the configuration that were hidden there: a program may have
// repeated how it was called.
func (r *bugReport) scrubbed(text []byte) []byte {
	words := slices.SortedFunc(maps.Keys(r.words), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	for _, w := range words {
		text = bytes.ReplaceAll(text, []byte(w), []byte(hidden))
	}
	return text
}

func (r *bugReport) events(name string) {
	r.section("events of %s", name)
	var b bytes.Buffer
	happened := eventReader{name: name, print: eventPrinter(&b, false)}
	if err := happened.read(); err != nil {
		fmt.Fprintln(&b, err)
	}
	_, _ = r.out.Write(r.scrubbed(b.Bytes()))
}

// state writes what a running interface tells.
func (r *bugReport) state(name string) {
	st, err := status(name)
	if err != nil {
		return
	}
	r.public[st.PublicKey] = true
	for i := range st.Peers {
		r.public[st.Peers[i].PublicKey] = true
		r.section("netcheck, peer %s", firstOf(st.Peers[i].Name, st.Peers[i].PublicKey))
		writeFindings(&r.out, netcheck.Judge(st, &st.Peers[i], nil, nil))
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

// output returns what a program printed, bounded in time and size.
func output(cmd []string) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), toolTime)
	defer cancel()
	text, err := exec.CommandContext(ctx, cmd[0], cmd[1:]...).CombinedOutput()
	if len(text) > toolOutput {
		text = append(text[:toolOutput], "\n(and more)\n"...)
	}
	if err != nil {
		text = append(text, err.Error()+"\n"...)
	}
	return text
}
