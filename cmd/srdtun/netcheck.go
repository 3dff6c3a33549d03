package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/doctor"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/netcheck"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/trace"
	"github.com/srdtun/srdtun/internal/bounded"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/overlay/control"
)

// maxTraces bounds the number of traced address pairs of a peer. A trace takes a second or two,
// and sends at most a thousand packets of one byte.
const maxTraces = 4

func netcheckCommand() *cobra.Command {
	var quick bool
	var file string
	c := &cobra.Command{
		Use:   "netcheck NAME|FILE [PEER]",
		Short: "Check the network on the paths to a peer",
		Long: `Test the network paths to a peer, or to all peers: which paths work, how many
equal-cost ways routers report, the path MTU, losses, ECN, blocked ports, and whether one
system call can send many packets. The interface must be running; the peer needs no
preparation.

Only the peer knows which packets arrive, and from which addresses and ports. --there FILE
reads the output of "srdtun show NAME --json" from there; - is standard input. Routers are
probed with packets of one byte that expire on the way, unless --quick is given.`,
		Args:              takes(1, 2),
		ValidArgsFunction: completeRunning,
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := askOne(args[0], control.Part{})
			if err != nil {
				return err
			}
			peers := r.Peers
			if len(args) > 1 {
				if peers = peersNamed(r.Status, args[1]); len(peers) == 0 {
					return usagef("%s has no peer %s", r.at, keytext.Quote(args[1]))
				}
			}
			there, err := statusOf(file)
			if err != nil {
				return err
			}
			if there != nil && !slices.ContainsFunc(peers, func(p control.Peer) bool { return p.PublicKey == there.PublicKey }) {
				return usagef("%s is of another peer: no peer here has the key of that end", file)
			}
			return runNetcheck(r.Status, peers, there, quick)
		},
	}
	c.Flags().StringVar(&file, "there", "", "a `FILE` with the output of show --json at the peer")
	c.Flags().BoolVar(&quick, "quick", false, "do not ask the routers")
	return c
}

// maxStatus bounds the size of a status file in bytes. A status with 65,536 paths has some 30 MB.
const maxStatus = 64 << 20

// statusOf reads a status from a file. If `file` is "", it returns nil.
func statusOf(file string) (*control.Status, error) {
	if file == "" {
		return nil, nil
	}
	var text []byte
	var err error
	if file == "-" {
		text, err = bounded.All(os.Stdin, maxStatus)
	} else {
		text, err = bounded.File(file, maxStatus)
	}
	if err != nil {
		return nil, err
	}
	st := new(control.Status)
	if err := json.Unmarshal(text, st); err != nil {
		return nil, usagef("%s is not output of show NAME --json: %v", file, err)
	}
	return st, nil
}

// peersNamed returns the peers with the given name, key or address.
func peersNamed(st *control.Status, who string) []control.Peer {
	if p := st.Find(who); p != nil {
		return []control.Peer{*p}
	}
	return nil
}

func runNetcheck(st *control.Status, peers []control.Peer, there *control.Status, quick bool) error {
	worst := doctor.OK
	for i := range peers {
		p := &peers[i]
		if i > 0 {
			fmt.Println()
		}
		fmt.Printf("peer %s\n", firstOf(p.Name, p.PublicKey))
		var ways []netcheck.Ways
		if !quick {
			var err error
			if ways, err = tracePeer(p); err != nil {
				return err
			}
		}
		theirs := there
		if theirs != nil && theirs.PublicKey != p.PublicKey {
			theirs = nil // the status belongs to another peer
		}
		v := netcheck.Judge(st, p, ways, theirs, deviceMTUs())
		writeFindings(os.Stdout, v)
		worst = max(worst, doctor.Worst(v))
	}
	if worst == doctor.Fault {
		return &toldError{errors.New("a peer cannot be reached")}
	}
	return nil
}

// deviceMTUs returns the MTUs of this host's devices by their addresses. If the daemon runs in
// another network namespace, the command does not see its devices.
func deviceMTUs() netcheck.Devices {
	all := map[netip.Addr]int{}
	devices, _ := net.Interfaces() // on an error the list is empty
	for _, d := range devices {
		addresses, _ := d.Addrs()
		for _, a := range addresses {
			if prefix, err := netip.ParsePrefix(a.String()); err == nil {
				all[prefix.Addr()] = d.MTU
			}
		}
	}
	return func(local netip.Addr) int { return all[local.Unmap().WithZone("")] }
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// tracePeer traces the network between the addresses of the peer's paths. On a terminal,
// tracePeer shows its progress.
func tracePeer(p *control.Peer) (ways []netcheck.Ways, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	pairs := netcheck.Pairs(p)
	for _, pair := range pairs[:min(len(pairs), maxTraces)] {
		progress("%v: asking the routers", pair)
		hops, err := trace.Run(ctx, trace.From{Addr: pair.Local, Interface: pair.Interface}, pair.Remote, func(h trace.Hop) {
			progress("%v: hop %d, %s", pair, h.TTL, count(len(h.Routers), "router"))
		})
		progress("")
		if ctx.Err() != nil {
			return nil, errors.New("interrupted")
		}
		ways = append(ways, netcheck.Ways{Pair: pair, N: trace.Ways(hops), Err: err})
	}
	return ways, nil
}

// progress shows a status line on a terminal until the next line replaces it.
func progress(format string, args ...any) {
	if isTerminal(os.Stderr) {
		fmt.Fprintf(os.Stderr, "\r\033[K"+format, args...)
	}
}
