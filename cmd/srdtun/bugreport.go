package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/doctor"
	"github.com/srdtun/srdtun/internal/netcheck"
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
preshared keys are left out, and so is everything that looks like a key and is no public
key of the configuration. Addresses and names are not: read it before you pass it on.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE: func(_ *cobra.Command, args []string) error {
			var b bytes.Buffer
			public := writeReport(&b, args[0])
			_, err := os.Stdout.Write(redact(b.Bytes(), public))
			return err
		},
	}
}

// keyShape is 32 bytes in base64, as all keys are written.
var keyShape = regexp.MustCompile(`[A-Za-z0-9+/]{43}=`)

// redact takes out what has the shape of a key and is not public. The shape is looked for
// everywhere, as a key may stand where nobody expects it: in a comment, a log, an
// environment.
func redact(text []byte, public map[string]bool) []byte {
	return keyShape.ReplaceAllFunc(text, func(k []byte) []byte {
		if public[string(k)] {
			return k
		}
		return []byte("(hidden)")
	})
}

// writeReport writes the report, secrets and all, and returns the public keys.
func writeReport(w io.Writer, arg string) (public map[string]bool) {
	public = map[string]bool{}
	section := func(format string, args ...any) { fmt.Fprintf(w, "\n== "+format+"\n", args...) }
	fmt.Fprintf(w, "srdtun %s, %s, %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)

	plan := doctor.Plan{SourcePorts: config.DefaultSourcePorts, ListenPort: config.DefaultListenPort}
	name, unit := arg, arg
	section("configuration")
	if file, from, err := configFile(arg); err != nil {
		fmt.Fprintln(w, err)
	} else {
		unit = strings.TrimSuffix(filepath.Base(file), suffix)
		text, err := os.ReadFile(from)
		fmt.Fprintf(w, "%s\n%s", file, orError(text, err))
		if c, err := load(arg); err != nil {
			fmt.Fprintln(w, err)
		} else {
			plan, name = planOf(c), c.Interface.Name
			for _, p := range c.Peers {
				public[p.PublicKey.String()] = true
			}
		}
	}
	section("doctor")
	writeFindings(w, doctor.Judge(doctor.Look(), plan))
	// A file that is wrong by now does not name the device.
	if device, err := interfaceName(arg); err == nil {
		name = device
	}
	section("events of %s", name)
	happened := eventReader{name: name, print: eventPrinter(w, false)}
	if err := happened.read(); err != nil {
		fmt.Fprintln(w, err)
	}
	if st, err := status(name); err == nil {
		public[st.PublicKey] = true
		for i := range st.Peers {
			public[st.Peers[i].PublicKey] = true
			section("netcheck, peer %s", firstOf(st.Peers[i].Name, st.Peers[i].PublicKey))
			writeFindings(w, netcheck.Judge(st, &st.Peers[i], nil, nil))
		}
		section("show --json")
		text, err := json.MarshalIndent(st, "", " ")
		fmt.Fprintf(w, "%s\n", orError(text, err))
	}
	for _, cmd := range [][]string{
		{"uname", "-a"}, {"ip", "-s", "link"}, {"ip", "addr"}, {"ip", "rule"}, {"ip", "route", "show", "table", "all"}, {"ip", "-6", "rule"},
		{"journalctl", "--no-pager", "-n", "500", "-u", "srdtun@" + unit},
	} {
		section("%q", cmd)
		_, _ = w.Write(output(cmd))
	}
	return public
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
