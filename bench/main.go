// Command bench measures the shipped srdtun in network namespaces. The command creates the
// namespaces, and removes them however it ends. A measuring subcommand needs root, and nothing else
// should run on the machine.
//
//	bench EXPERIMENT [flags]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/srdtun/srdtun/bench/apps"
	"github.com/srdtun/srdtun/bench/blackhole"
	"github.com/srdtun/srdtun/bench/cores"
	"github.com/srdtun/srdtun/bench/drills"
	"github.com/srdtun/srdtun/bench/hostdelay"
	"github.com/srdtun/srdtun/bench/plaintcp"
	"github.com/srdtun/srdtun/bench/regress"
	"github.com/srdtun/srdtun/bench/results"
	"github.com/srdtun/srdtun/bench/rivals"
	"github.com/srdtun/srdtun/bench/suites"
)

// experiments lists the subcommands by name.
var experiments = []struct {
	name, says string
	run        func(args []string) error
}{
	{"regress", "two versions in turn: which figures became worse", regress.Main},
	{"rivals", "beside wireguard-go, nebula, MPTCP and plain TCP", rivals.Main},
	{"cloud", "under a cloud's limits: in namespaces, or between two instances", rivals.Cloud},
	{"messages", "srdperf beside UDP sockets, and TCP through the tunnel", rivals.Messages},
	{"blackhole", "how long an application stalls when a spine dies silently", blackhole.Main},
	{"apps", "PostgreSQL and etcd while spines die, a ring of sockets, Open MPI", apps.Main},
	{"drills", "hurt the daemon under load, each way with its bound", drills.Main},
	{"cores", "how many processors one peer can use", cores.Main},
	{"hostdelay", "how late this machine's processes are, for the simulator", hostdelay.Main},
	{"plaintcp", "what the kernel's TCP does, for its model in the simulator", plaintcp.Main},
	{"suites", "the tests of net/http and HTTP/2 over srd/ep/epnet, beside TCP", suites.Main},
	{"results", "write docs/results.md from what the others left", results.Main},
}

func main() {
	if len(os.Args) > 1 {
		for _, e := range experiments {
			if e.name == os.Args[1] {
				end(e.name, e.run(os.Args[2:]))
				return
			}
		}
	}
	fmt.Fprintln(os.Stderr, "usage: bench EXPERIMENT [flags]")
	for _, e := range experiments {
		fmt.Fprintf(os.Stderr, "  %-10s %s\n", e.name, e.says)
	}
	os.Exit(2)
}

// end prints an error and exits with code 1.
func end(name string, err error) {
	switch {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench %s: %v\n", name, err)
		os.Exit(1)
	}
}
