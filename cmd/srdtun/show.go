package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/view"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/peerid"
	"github.com/srdtun/srdtun/overlay/control"
	"golang.org/x/sys/unix"
)

// The words all, interfaces, dump and paths have a special meaning in show, as in wg show.
const (
	wordAll        = "all"
	wordInterfaces = "interfaces"
	wordDump       = "dump"
	wordPaths      = "paths"
)

const showUsage = "show [NAME|FILE|all|interfaces] [dump|paths]"

type showFlags struct {
	json, check bool
	peer        string // "": all
}

func showCommand() *cobra.Command {
	var f showFlags
	c := &cobra.Command{
		Use:        showUsage,
		SuggestFor: []string{"dump", "status"}, // from "show dump" and from systemctl
		Short:      "Show running interfaces, their peers and paths",
		Long: `Show running interfaces, their peers and paths.

Without a name all running interfaces are shown; "interfaces" lists their names.
The output fits a screen: it has a line for each pair of addresses. "show paths NAME"
prints every path and every counter. "dump" prints the columns of wg show dump,
separated by tabs; its endpoints can be called. --json prints one object for a name
and a list without; docs/monitoring.md describes every field. --check reports faults,
such as a silent peer or paths that are down, and then exits with 4. Of all interfaces, one that does not answer within 3 s is named on
standard error; the others are shown, and the exit code is 1.`,
		Args:              takes(0, 2),
		ValidArgsFunction: completeShow,
		RunE:              func(_ *cobra.Command, args []string) error { return show(args, f) },
	}
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	c.Flags().BoolVar(&f.check, "check", false, "say whether all is well; exit with 4 if not")
	c.Flags().StringVar(&f.peer, "peer", "", "only this `PEER`: a name, a public key or an address inside the tunnel")
	return c
}

func completeShow(c *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	switch {
	case len(args) == 1 && args[0] == wordPaths:
		return completeRunning(c, nil, typed)
	case len(args) == 1:
		return []string{wordDump, wordPaths}, cobra.ShellCompDirectiveNoFileComp
	}
	return completeRunning(c, args, typed)
}

// showArgs returns the interface that the arguments name, and the requested part: "", dump or
// paths.
func showArgs(args []string, f showFlags) (which, what string, err error) {
	which = wordAll
	if len(args) > 0 && args[0] == wordPaths {
		args = append(slices.Clone(args[1:]), wordPaths)
		if len(args) == 1 {
			args = []string{wordAll, wordPaths}
		}
	}
	if len(args) > 0 {
		which = args[0]
	}
	if len(args) > 1 {
		what = args[1]
	}
	switch {
	case what != "" && what != wordDump && what != wordPaths,
		(what != "" || f.check) && which == wordInterfaces,
		what != "" && (f.json || f.check), f.json && f.check, f.peer != "" && which == wordInterfaces:
		return "", "", usagef("usage: srdtun %s [--json|--check] [--peer PEER]", showUsage)
	}
	return which, what, nil
}

func show(args []string, f showFlags) error {
	which, what, err := showArgs(args, f)
	if err != nil {
		return err
	}
	all, silent, err := statuses(which, control.Part{Brief: which == wordInterfaces, Peer: f.peer})
	if err == nil && f.peer != "" {
		all, err = ofPeer(all, f.peer)
	}
	switch {
	case errors.Is(err, errNoneRuns) && f.json:
		return writeJSON(os.Stdout, []*control.Status{})
	case err != nil:
		return errors.Join(append(silent, err)...)
	}
	var list []*control.Status
	for _, r := range all {
		if which != wordInterfaces && what != wordDump && !f.check {
			r.FileStale = stale(r)
		}
		list = append(list, r.Status)
	}
	if f.check {
		return healthy(list, silent)
	}
	if err := printStatus(list, which, what, f); err != nil {
		return err
	}
	return toldAll(silent)
}

// stale returns how the file of an interface has changed since the daemon loaded it, or "". A user
// who cannot read the file learns nothing. The daemon of a service names any file, so the file
// follows from the service's name.
func stale(r running) string {
	file, arg := r.File, r.File
	if r.at.Service != "" {
		file = filepath.Join(configDir(), r.at.Service+suffix)
	}
	if name, ok := strings.CutSuffix(filepath.Base(file), suffix); ok && filepath.Dir(file) == configDir() {
		arg = name
	}
	if r.FileDigest == "" || file == "" {
		return "" // an earlier version
	}
	c, err := config.Load(file)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return "changed after it was loaded, and cannot be applied: " + err.Error()
	case config.Digest(c) != r.FileDigest:
		return "changed after it was loaded: srdtun reload " + arg + " applies it"
	}
	return ""
}

// toldAll prints a line for each error, and returns all errors in a toldError.
func toldAll(all []error) error {
	if len(all) == 0 {
		return nil
	}
	for _, err := range all {
		fmt.Fprintln(os.Stderr, "srdtun: "+oneLine(err))
	}
	return &toldError{errors.Join(all...)}
}

func printStatus(list []*control.Status, which, what string, f showFlags) error {
	switch {
	case which == wordInterfaces:
		for _, st := range list {
			fmt.Println(st.Interface)
		}
		return nil
	case what == wordDump:
		return view.Dump(os.Stdout, list, which == wordAll)
	case f.json && which != wordAll:
		return writeJSON(os.Stdout, list[0])
	case f.json:
		return writeJSON(os.Stdout, list)
	}
	return view.Text(os.Stdout, list, view.Options{Colour: colour(os.Stdout), Now: time.Now(), Full: what == wordPaths})
}

// ofPeer keeps only the peer that `who` names, and drops interfaces without that peer.
func ofPeer(list []running, who string) (v []running, err error) {
	for _, r := range list {
		if p := r.Find(who); p != nil {
			one := *r.Status
			one.Peers = []control.Peer{*p}
			v = append(v, running{r.at, &one})
		}
	}
	for _, r := range list {
		if e := r.FindExpired(who); e != nil && len(v) == 0 {
			return nil, vetted{&codedError{code: exitFailure, msg: fmt.Sprintf("%s: peer %s expired at %s", r.Interface, who, time.Unix(e.ExpiredUnixS, 0).UTC().Format(time.RFC3339))}}
		}
	}
	if len(v) == 0 {
		return nil, usagef("no interface that is asked has a peer %s%s", keytext.Quote(who), peerid.Missed(who))
	}
	return v, nil
}

// colour reports whether f is a terminal, and the user wants colours (no-color.org).
func colour(f *os.File) bool { return isTerminal(f) && os.Getenv("NO_COLOR") == "" }

// troublesMost bounds the number of faults in one line.
const troublesMost = 4

// healthy prints a line for each healthy interface. For the unhealthy interfaces, healthy()
// returns an error with their faults.
func healthy(list []*control.Status, silent []error) error {
	var bad []string
	for _, err := range silent {
		bad = append(bad, err.Error())
	}
	for _, st := range list {
		v := view.Troubles(st, time.Now())
		if len(st.Peers) == 0 {
			v = append(v, view.NoPeer(st))
		}
		if len(v) == 0 {
			fmt.Printf("%s: %s\n", st.Interface, verdict(st))
			continue
		}
		if n := len(v) - troublesMost; n > 0 {
			v = append(v[:troublesMost], fmt.Sprintf("and %d more", n))
		}
		bad = append(bad, fmt.Sprintf("%s is degraded: %s", st.Interface, strings.Join(v, "; ")))
	}
	if len(bad) > 0 {
		return &codedError{code: exitDegraded, msg: strings.Join(bad, "; ")}
	}
	return nil
}

// verdict describes the state of an interface without faults in one line. For an interface
// without a session, verdict() cannot tell whether it is idle or broken.
func verdict(st *control.Status) string {
	up := 0
	for i := range st.Peers {
		n, _ := view.Up(st.Peers[i].Paths)
		up += n
	}
	peers := count(len(st.Peers), "peer")
	if n := len(st.Expired); n > 0 {
		peers += fmt.Sprintf(" and %d expired", n)
	}
	if up == 0 {
		return fmt.Sprintf("idle: %s, no session%s", peers, view.NoSession(st, time.Now()))
	}
	return fmt.Sprintf("ok: %s, %s up", peers, count(up, "path"))
}

// errNoneRuns is the error of a request to all interfaces if no daemon runs.
var errNoneRuns error = &codedError{code: exitNotRunning, msg: "no interface is running"}

// statuses requests the status of one interface, or of all running interfaces. The list from
// statuses is never empty, except with an error.
func statuses(which string, part control.Part) (list []running, silent []error, err error) {
	if which == wordAll || which == wordInterfaces {
		return askRunning(part)
	}
	r, err := askOne(which, part)
	if err != nil {
		return nil, nil, err
	}
	return []running{r}, nil, nil
}

func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// columns returns the width of the terminal in characters. Without a terminal columns returns 0,
// which means lines of any length.
func columns(f *os.File) int {
	size, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0
	}
	return int(size.Col)
}
