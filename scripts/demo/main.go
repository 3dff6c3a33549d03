// Command demo shows srdtun in a network of namespaces on one machine. The demonstration runs an
// iperf3 flow and a curl download, first without and then with the tunnel. In the middle of each
// run, the busiest of four paths fails silently.
//
// The command needs root, and removes all its changes even if it is interrupted. The target "make
// demo" installs the programs that the command needs, and builds srdtun.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/srdtun/srdtun/e2e/fabric"
	"github.com/srdtun/srdtun/e2e/meter"
	"github.com/srdtun/srdtun/e2e/tunnel"
	"github.com/srdtun/srdtun/scripts/picture"
)

// schedule gives plain TCP enough time to recover. By the end of the outage, TCP's retransmission
// timeout has doubled to several seconds.
var schedule = meter.Schedule{Before: 5 * time.Second, During: 5 * time.Second, After: 6 * time.Second}

// quietWait bounds how long a run waits for an idle machine. The network and the daemons are busy
// just after their start, and a build in progress ends within 10 s.
const quietWait = 10 * time.Second

// downloadBytes is the size of the download in bytes, which takes plain TCP some 11 s.
const downloadBytes = 128 << 20

// The constants describe the test network. A TCP flow on one spine has a goodput of 96 Mbit/s,
// after TCP/IP headers and Ethernet framing.
const (
	spines   = 4
	rateMbit = 100
)

func main() {
	bin := flag.String("bin", "bin/srdtun", "the srdtun to show")
	plot := flag.String("plot", "bin/srdplot", "the srdplot to draw with")
	out := flag.String("o", "out/demo.png", "the picture to write")
	flag.Parse()
	fabric.Command("demo", "", func() error { return demo(*bin, *plot, *out) })
}

// demo runs the whole demonstration.
func demo(bin, plot, out string) (err error) {
	step("building the network: 2 hosts, 2 leaves, %d spines of %d Mbit/s", spines, rateMbit)
	f, err := fabric.New(fabric.Spec{Spines: spines, RateMbit: rateMbit})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()

	step("starting two daemons from TOML files with fresh keys")
	pair, err := tunnel.NewPair(bin, f.A(1), f.B(1), tunnel.Config{}, false)
	if pair != nil {
		defer func() { err = errors.Join(err, pair.Close()) }()
	}
	if err != nil {
		return err
	}
	fmt.Printf("  %s on %s and %s on %s reach each other\n", pair.A.Name, f.A(1).Addr4(), pair.B.Name, f.B(1).Addr4())

	var acts []act
	for _, a := range []act{
		{name: "plain TCP", title: "plain TCP, same network", to: f.B(1).Addr4()},
		{name: "through srdtun", title: "through srdtun", to: tunnel.Inner4(2)},
	} {
		if a.watch, err = meter.Watched(quietWait, func() error { return a.play(f) }); err != nil {
			return fmt.Errorf("%s: %w\n%s", a.name, err, pair.Report())
		}
		acts = append(acts, a)
	}
	printTable(os.Stdout, acts)
	if why := disturbed(acts); why != "" {
		fmt.Printf("\nThis machine had other work to do: %s. The figures are too low; see it again when the machine is quiet.\n", why)
	}
	if err := draw(plot, out, acts); err != nil {
		return err
	}
	for _, a := range acts {
		if !a.intact {
			return fmt.Errorf("%s: the download differs from what was sent", a.name)
		}
	}
	return nil
}

// act is a run of the demonstration, with or without the tunnel.
type act struct {
	name     string
	title    string     // in the legend
	to       netip.Addr // address of the server
	outage   *meter.Outage
	download meter.Download
	intact   bool
	watch    meter.Watch
}

// disturbed describes other work on the machine during the runs, or returns "".
func disturbed(acts []act) string {
	var v []string
	for _, a := range acts {
		if a.watch.Note != "" {
			v = append(v, a.watch.Note+" ("+a.name+")")
		}
	}
	return strings.Join(v, "; ")
}

// play runs iperf3 with an outage in the middle, and then curl.
func (a *act) play(f *fabric.Fabric) error {
	step("iperf3, one flow, %s; the busiest spine is a blackhole from %.0f s to %.0f s", a.name,
		schedule.Before.Seconds(), (schedule.Before + schedule.During).Seconds())
	bar := newProgress(os.Stdout)
	var err error
	a.outage, err = meter.Blackhole(f, meter.Flow{Client: f.A(1), Server: f.B(1), To: a.to, OnInterval: bar.show}, schedule)
	bar.end()
	if err != nil {
		return err
	}
	content, err := meter.Serve(f.B(1), a.to, downloadBytes)
	if err != nil {
		return err
	}
	defer content.Close()
	step("curl, %d MiB, %s", downloadBytes>>20, a.name)
	a.download, err = meter.Curl(f.A(1), content.URL(), time.Minute)
	a.intact = a.download.SHA256 == content.SHA256
	fmt.Printf("  %.1f s\n", a.download.Took.Seconds())
	return err
}

func step(format string, args ...any) { fmt.Printf("\n"+format+"\n", args...) }

// printTable prints the results of both runs.
func printTable(out io.Writer, acts []act) {
	fmt.Fprintf(out, "\n%-16s%12s%22s%12s%16s%16s%10s\n", "", "before", "during the outage", "after", "longest stall", "curl 128 MiB", "SHA-256")
	for _, a := range acts {
		o := a.outage
		stall, sum := fmt.Sprintf("%.1f s", o.Stall.Seconds()), "DIFFERS"
		if o.Stall == 0 {
			stall = "under 0.1 s"
		}
		if a.intact {
			sum = "equal"
		}
		fmt.Fprintf(out, "%-16s%5.0f Mbit/s%9.0f Mbit/s %3.0f %%%5.0f Mbit/s%16s%14.1f s%10s\n", a.name,
			o.Before/1e6, o.Before*o.Share/1e6, o.Share*100, o.After/1e6, stall, a.download.Took.Seconds(), sum)
	}
	fmt.Fprintln(out, "Rates are means. The mean after the outage includes the rest of a stall.")
}

// draw writes the picture of both runs.
func draw(plot, out string, acts []act) error {
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil {
		return err
	}
	if err := picture.Draw(plot, out, newFigure(acts)); err != nil {
		return err
	}
	fmt.Printf("\npicture: %s\n", out)
	return nil
}
