// Package results writes docs/results.md, which lists the current results by question.
//
// Each table is in a separate file in bench/results/stored, with date, machine, version and
// command. "make results" reads measured values from the folder out/. The folder out/ is filled by
// "make lab", "make bench", "make strain", "make cloud", "make messages", "make blackhole", "make
// apps" and "make compare". "make results" replaces each table for which out/ has all files, prints
// which tables it keeps, and writes the document from all tables. A table that no target makes is
// copied from another document, and names that document. The picture docs/bench.png is drawn from
// the stored table "link".
package results

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/srdtun/srdtun/scripts/picture"
)

// Main runs the subcommand "bench results".
func Main(args []string) error {
	f := flag.NewFlagSet("bench results", flag.ContinueOnError)
	out := f.String("out", "out", "the `folder` that the measurements left their files in")
	dir := f.String("stored", "bench/results/stored", "the `folder` of the tables")
	file := f.String("o", "docs/results.md", "the document to write")
	plot := f.String("plot", "", "srdplot: also draw the table of one link, as docs/bench.png")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		f.Usage()
		return errors.New("see the flags above")
	}
	return run(*out, *dir, *file, *plot)
}

func run(out, dir, file, plot string) error {
	tables, err := load(dir)
	if err != nil {
		return err
	}
	for _, s := range sources {
		t, err := s.take(filepath.Join(out, s.path))
		if err != nil {
			if old := tables[s.table]; old != nil {
				fmt.Printf("%-14s kept, of %s: %v\n", s.table, old.Date, err)
			} else {
				fmt.Printf("%-14s missing: %v\n", s.table, err)
			}
			continue
		}
		t.Command = s.command
		if old := tables[s.table]; old != nil && slices.EqualFunc(old.Rows, t.Rows, slices.Equal) {
			t.Version = old.Version // the values are the same, so the old version remains
		}
		if err := t.save(dir, s.table); err != nil {
			return err
		}
		tables[s.table] = t
		fmt.Printf("%-14s of %s\n", s.table, t.Date)
	}
	text, err := page(tables)
	if err != nil {
		return err
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil || plot == "" {
		return err
	}
	p, err := linkPicture(tables["link"])
	if err != nil {
		return err
	}
	return picture.Draw(plot, filepath.Join(filepath.Dir(file), "bench.png"), p)
}

// source describes a table that a Makefile target produces.
type source struct {
	table   string // name in the folder of stored tables
	path    string // path below out/
	command string
	take    func(path string) (*table, error)
}

var sources = []source{
	{"fabric", "bench.jsonl", "sudo make bench BENCHFLAGS='--only 4x100,tcp,mptcp,wireguard-go,srdtun'", takeFabric},
	{"link", "bench.jsonl", "sudo make bench BENCHFLAGS='-nebula-source DIR'", takeLink},
	{"vxlan", "bench.jsonl", "sudo make bench BENCHFLAGS='-nebula-source DIR --only real,tcp1,vxlan,wireguard-go,wireguard-ts,nebula,srdtun'", takeVXLAN},
	{"strain", "strain.jsonl", "sudo make strain", takeStrain},
	{"cloud", "cloud.jsonl", "sudo make cloud", takeCloud},
	{"messages", "messages.jsonl", "sudo make messages", takeMessages},
	{"death", "blackhole.jsonl", "sudo make blackhole", takeBlackhole},
	{"apps", "apps.jsonl", "sudo make apps", takeApps},
	{"plans", "lab", "make lab", takePlans},
	{"policies", "compare/matrix.jsonl", "make compare COMPAREFLAGS='--full --load 0.3,0.6,0.9 --workload websearch'", takePolicies},
}
