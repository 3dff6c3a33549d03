// Package apps runs common applications unchanged over the fabric of the end-to-end tests. Each
// application runs three times: without a tunnel, with kernel MPTCP, and through srdtun. PostgreSQL
// and etcd run while spine switches fail silently. The ring experiment measures how long many
// simultaneous flows take. In the incast experiment 48 ranks of Open MPI all send to one rank.
//
// The command needs root, and removes all its changes however it ends. "make apps" installs the
// applications and runs the command. The command writes each value as soon as it is measured, as a
// line of JSON.
package apps

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
)

// options holds the command line's flags.
type options struct {
	srdtun, plot string
	out          string // prefix of the names of the output files
	only         string
	deaths       int
}

// Main runs the subcommand "bench apps".
func Main(args []string) error {
	var o options
	f := flag.NewFlagSet("bench apps", flag.ContinueOnError)
	f.StringVar(&o.srdtun, "bin", "bin/srdtun", "the srdtun to measure")
	f.StringVar(&o.plot, "plot", "bin/srdplot", "the srdplot to draw with; empty: no picture")
	f.StringVar(&o.out, "o", "out/apps", "write `NAME`.md, NAME.png and NAME.jsonl")
	f.StringVar(&o.only, "only", "", "only these applications and kinds: a `list` divided by commas of\n"+strings.Join(words(), " "))
	f.IntVar(&o.deaths, "deaths", 100, "how `many` spines die under PostgreSQL in the tunnel; others get a quarter, etcd a fifth")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 || o.deaths < 5 {
		f.Usage()
		return errors.New("see the flags above")
	}
	fabric.Command("bench apps", ". What was measured is in "+o.out+".jsonl", o.run)
	return nil
}

// app describes an application and the network on which it runs.
type app struct {
	name, title string
	spec        fabric.Spec
	// run measures the application on the hosts of a cluster.
	run func(r *run, c *cluster) ([]value, error)
}

// value is one measured result. The unit of a value is part of the value's name.
type value struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// record is a line of the output file.
type record struct {
	App     string    `json:"app"`
	Kind    string    `json:"kind"`
	Version string    `json:"version"` // version of srdtun
	Values  []value   `json:"values,omitempty"`
	Worst   []float64 `json:"worst_ms,omitempty"` // longest response time during each spine failure
	Error   string    `json:"error,omitempty"`
}

var applications = []app{postgres, etcd, ring, mpi}

// words returns the names that the flag -only accepts.
func words() (all []string) {
	for _, a := range applications {
		all = append(all, a.name)
	}
	for _, k := range kinds {
		all = append(all, k.name)
	}
	return all
}

// chosen reports whether the flag -only selects a name of the list. If -only contains no name of
// this list, it selects every name of the list.
func chosen(only, name string, list []string) bool {
	if only == "" {
		return true
	}
	named := strings.Split(only, ",")
	return slices.Contains(named, name) || !slices.ContainsFunc(list, func(s string) bool { return slices.Contains(named, s) })
}

func (o options) check() error {
	if o.only == "" {
		return nil
	}
	for _, w := range strings.Split(o.only, ",") {
		if !slices.Contains(words(), w) {
			return fmt.Errorf("-only: there is no %q; there are %s", w, strings.Join(words(), " "))
		}
	}
	return nil
}

type run struct {
	options
	file  *os.File
	built string // the version of srdtun
	dir   string // folder for the applications' data
	all   []record
	worst []float64 // values of the current measurement
}

func (o options) run() (err error) {
	if err := o.check(); err != nil {
		return err
	}
	if os.Geteuid() != 0 {
		return errors.New("namespaces can be made by root only")
	}
	if err := os.MkdirAll(filepath.Dir(o.out), 0o755); err != nil {
		return err
	}
	said, err := exec.Command(o.srdtun, "version").Output()
	if err != nil {
		return fmt.Errorf("%s: %w", o.srdtun, err)
	}
	r := &run{options: o, built: version(string(said))}
	if r.file, err = os.Create(o.out + ".jsonl"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.file.Close()) }()
	if r.dir, err = fabric.Scratch(); err != nil {
		return err
	}
	// PostgreSQL's files belong to another user, so this user must be able to enter the folder.
	if err := os.Chmod(r.dir, 0o711); err != nil {
		return err
	}
	var apps, names []string
	for _, a := range applications {
		apps = append(apps, a.name)
	}
	for _, k := range kinds {
		names = append(names, k.name)
	}
	failed := 0
	for _, a := range applications {
		for _, k := range kinds {
			if !chosen(o.only, a.name, apps) || !chosen(o.only, k.name, names) {
				continue
			}
			if err := r.visit(a, k); err != nil {
				fmt.Printf("%-9s %-7s failed: %v\n", a.name, k.name, err)
				failed++
			}
		}
	}
	if err := r.report(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d measurements failed", failed)
	}
	return nil
}

// version returns the version number in the output of "srdtun version".
func version(said string) string {
	if f := strings.Fields(said); len(f) > 1 {
		return f[1]
	}
	return ""
}

// visit measures one application over one kind of transport.
func (r *run) visit(a app, k kind) (err error) {
	begun := time.Now()
	fmt.Printf("%-9s %-7s ...\n", a.name, k.name)
	rec := record{App: a.name, Kind: k.name, Version: r.built}
	r.worst = nil
	c, err := newCluster(r, a.spec, k)
	if err == nil {
		rec.Values, err = a.run(r, c)
		err = errors.Join(err, c.close())
	}
	rec.Worst = r.worst
	if err != nil {
		rec.Error = err.Error()
	}
	r.all = append(r.all, rec)
	line, e := json.Marshal(rec)
	if e == nil {
		_, e = r.file.Write(append(line, '\n'))
	}
	for _, v := range rec.Values {
		fmt.Printf("%-9s %-7s %-24s %s\n", a.name, k.name, v.Name, digits(v.Value))
	}
	fmt.Printf("%-9s %-7s took %v\n", a.name, k.name, time.Since(begun).Round(time.Second))
	return errors.Join(err, e)
}
