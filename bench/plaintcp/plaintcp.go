// Package plaintcp records how the kernel's TCP behaves. Tests compare the simulator's TCP model
// with this record (lab/tcp/testdata/linux.txt, lab/testdata/beside.txt). The command needs root,
// because it creates namespaces.
//
//	bench plaintcp [-bin FILE] [-o FILE] [CASE...]
//
// Each case is one network of tbf links with 100 Mbit/s and no delay. Up to two groups of CUBIC
// flows (iperf3) start at the same time, and one group may be inside the tunnel. A line of the
// record holds the case, the run, the group, a key and its values. The key "mbit" has the goodput
// at the server in each interval of 250 ms, and "cwnd" has the congestion window of the first flow
// in segments. The key "resent" has the number of segments that the group retransmitted, and
// "flows" has the goodput of each flow over the whole run.
package plaintcp

import (
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/tunnel"
)

// site is the network of a case, and its flows.
type site struct {
	name     string
	spines   int
	limit    int // size of each link's buffer in bytes
	permille int // share of packets that are lost in each direction, in thousandths
	groups   []group
	lasts    time.Duration
	runs     int
}

// group is a set of flows that start at the same time.
type group struct {
	inside bool // the flows are inside the tunnel
	flows  int
}

const (
	short = 256 << 10  // 20 ms at the link's rate
	deep  = 2500 << 10 // 200 ms at the link's rate
)

// besideRuns is the number of runs in which plain flows compete with a tunnel. Several runs are
// needed, because the shares depend on which flow starts first, and on which spines the plain flows
// use.
const besideRuns = 4

var sites = []site{
	{name: "alone-20", spines: 1, limit: short, groups: []group{{false, 1}}, lasts: 10 * time.Second, runs: 1},
	{name: "alone-200", spines: 1, limit: deep, groups: []group{{false, 1}}, lasts: 20 * time.Second, runs: 1},
	{name: "two-20", spines: 1, limit: short, groups: []group{{false, 1}, {false, 1}}, lasts: 16 * time.Second, runs: 1},
	{name: "two-200", spines: 1, limit: deep, groups: []group{{false, 1}, {false, 1}}, lasts: 24 * time.Second, runs: 1},
	{name: "four-20", spines: 1, limit: short, groups: []group{{false, 4}, {false, 4}}, lasts: 12 * time.Second, runs: 1},
	{name: "loss-0.5", spines: 1, limit: short, permille: 5, groups: []group{{false, 1}}, lasts: 10 * time.Second, runs: 1},
	{name: "loss-2", spines: 1, limit: short, permille: 20, groups: []group{{false, 1}}, lasts: 10 * time.Second, runs: 1},
	beside("beside-1-1-20", 1, short, 1, 1),
	beside("beside-4-4-20", 1, short, 4, 4),
	beside("beside-1-1-200", 1, deep, 1, 1),
	beside("beside-1-4-spines", 4, short, 1, 4),
	beside("beside-4-4-spines", 4, short, 4, 4),
}

// beside is a case with some flows inside the tunnel and others as plain TCP.
func beside(name string, spines, limit, inside, plain int) site {
	return site{name: name, spines: spines, limit: limit, groups: []group{{true, inside}, {false, plain}}, lasts: 8 * time.Second, runs: besideRuns}
}

// Main runs the subcommand "bench plaintcp".
func Main(args []string) error {
	f := flag.NewFlagSet("bench plaintcp", flag.ContinueOnError)
	bin := f.String("bin", "bin/srdtun", "the daemon")
	out := f.String("o", "", "the `file` to write (default: standard output)")
	f.Usage = func() {
		fmt.Fprintln(f.Output(), "bench plaintcp [-bin FILE] [-o FILE] [CASE...], cases:")
		for _, s := range sites {
			fmt.Fprintln(f.Output(), " ", s.name)
		}
	}
	if err := f.Parse(args); err != nil {
		return err
	}
	for _, name := range f.Args() {
		if !slices.ContainsFunc(sites, func(s site) bool { return s.name == name }) {
			return fmt.Errorf("no case %q; -h lists them", name)
		}
	}
	fabric.Command("bench plaintcp", "", func() error { return record(*bin, *out, f.Args()) })
	return nil
}

// record runs the named cases, or all cases, and writes their results.
func record(bin, out string, names []string) error {
	w := io.Writer(os.Stdout)
	if out != "" {
		file, err := os.Create(out)
		if err != nil {
			return err
		}
		defer file.Close()
		w = file
	}
	fmt.Fprintf(w, "# bench plaintcp %s\n# Linux %s, %d processors, %s\n",
		strings.Join(names, " "), kernel(), runtime.NumCPU(), time.Now().UTC().Format(time.DateOnly))
	for _, s := range sites {
		if len(names) > 0 && !slices.Contains(names, s.name) {
			continue
		}
		for n := range s.runs {
			if err := s.play(w, bin, n+1); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	return nil
}

func kernel() string {
	var u unix.Utsname
	if unix.Uname(&u) != nil {
		return "?"
	}
	return unix.ByteSliceToString(u.Release[:])
}

// play builds the network of a case, runs all groups at the same time, and writes their results.
func (s site) play(w io.Writer, bin string, run int) (err error) {
	f, err := fabric.New(fabric.Spec{Spines: s.spines, LimitBytes: s.limit})
	if err != nil {
		return err
	}
	defer f.Close()
	if slices.ContainsFunc(s.groups, func(g group) bool { return g.inside }) {
		p, err := tunnel.NewPair(bin, f.A(1), f.B(1), tunnel.Config{}, false)
		if p != nil {
			defer p.Close()
		}
		if err != nil {
			return err
		}
	}
	if s.permille > 0 {
		if err := f.Lossy(1, s.permille); err != nil {
			return err
		}
	}
	var all []*load
	for i, g := range s.groups {
		to := f.B(1).Addr4()
		if g.inside {
			to = tunnel.Inner4(2)
		}
		l, err := serve(f.A(1), f.B(1), to, 5301+i, g.flows, s.lasts)
		if err != nil {
			return err
		}
		defer l.server.Kill()
		all = append(all, l)
	}
	for _, l := range all {
		l.begin()
	}
	for i, l := range all {
		r, err := l.end()
		if err != nil {
			return err
		}
		r.write(w, fmt.Sprintf("%s %d %d", s.name, run, i))
	}
	return nil
}
