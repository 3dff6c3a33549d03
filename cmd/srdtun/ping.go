package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/signal"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/cmd/srdtun/internal/view"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/pause"
	"github.com/srdtun/srdtun/internal/peerid"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"golang.org/x/sys/unix"
)

type pingFlags struct {
	every    bool
	count    int
	interval time.Duration
	json     bool
}

// These constants bound the options of ping. The daemon sends pings to a peer at most every 200 ms.
const (
	pingCountMost     = 1_000_000
	pingIntervalLeast = 200 * time.Millisecond
)

func pingCommand() *cobra.Command {
	var f pingFlags
	c := &cobra.Command{
		Use:   "ping [NAME] PEER",
		Short: "Measure the round trip to a peer, path by path",
		Long: `Measure the round trip to a peer, path by path: the daemon sends a challenge on the
path, and waits up to a second for the response. Nothing goes through the tunnel, so this
also works if the host at the other end answers no pings.

PEER is a peer's name or public key, or an address inside the tunnel. NAME is the interface,
and is only needed if several interfaces have such a peer. Without --all-paths one path of each pair of addresses is measured.
Exits with 1 if nothing answers.`,
		Args:              takes(1, 2),
		ValidArgsFunction: completePeer,
		RunE:              func(_ *cobra.Command, args []string) error { return ping(args, f) },
	}
	c.Flags().BoolVarP(&f.every, "all-paths", "a", false, "measure every path")
	c.Flags().IntVarP(&f.count, "count", "c", 5, "how many rounds; 0: until interrupted")
	c.Flags().DurationVarP(&f.interval, "interval", "i", time.Second, "time between rounds")
	c.Flags().BoolVar(&f.json, "json", false, "print a line of JSON for each round")
	return c
}

func ping(args []string, f pingFlags) error {
	switch {
	case f.count < 0 || f.count > pingCountMost:
		return usagef("--count %d is not between 0 and %d", f.count, pingCountMost)
	case f.interval < pingIntervalLeast:
		return usagef("--interval %v is below %v", f.interval, pingIntervalLeast)
	}
	name, peer, err := whichPeer(args)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), unix.SIGINT, unix.SIGTERM)
	defer stop()
	var sum view.Pinged
	for i := 1; f.count == 0 || i <= f.count; i++ {
		begin := time.Now()
		v, err := pingOnce(name, peer, f.every)
		if err != nil {
			return err
		}
		sum.Add(v)
		if err := printRound(i, v, f.json); err != nil {
			return err
		}
		if i == f.count || !pause.For(ctx, f.interval-time.Since(begin)) {
			break
		}
	}
	if !f.json {
		if err := sum.Summary(os.Stdout, columns(os.Stdout)); err != nil {
			return err
		}
	}
	if !sum.Answered() {
		return errors.New("nothing answers")
	}
	return nil
}

func pingOnce(at rundir.Place, peer string, every bool) (*control.Pings, error) {
	c, err := control.Dial(at)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Ping(peer, every)
}

func printRound(number int, v *control.Pings, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(os.Stdout).Encode(v)
	}
	return view.Round(os.Stdout, number, v)
}

// whichPeer returns the interface and the peer that the arguments name. Without an interface
// argument, whichPeer searches all running interfaces for the peer.
func whichPeer(args []string) (at rundir.Place, peer string, err error) {
	peer = args[len(args)-1]
	if len(args) == 2 {
		at, err = placeOf(args[0])
		return at, peer, err
	}
	list, silent, err := askRunning(control.Part{Brief: peer == "", Peer: peer})
	if err != nil {
		return at, "", err
	}
	var have []rundir.Place
	for _, r := range list {
		if r.Find(peer) != nil {
			have = append(have, r.at)
		}
	}
	switch len(have) {
	case 0:
		return at, "", errors.Join(append(silent, usagef("no running interface has a peer %s%s", keytext.Quote(peer), peerid.Missed(peer)))...)
	case 1:
		return have[0], peer, nil
	}
	return at, "", vetted{usagef("%s and %s have a peer %q; say which: srdtun ping NAME PEER", have[0], have[1], peer)}
}

// completePeer completes the names of peers. If the arguments name an interface, it completes only
// the names of its peers.
func completePeer(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var list []running
	if len(args) == 0 {
		list, _, _ = askRunning(control.Part{})
	} else {
		list, _, _ = statuses(args[0], control.Part{})
	}
	var v []string
	for _, r := range list {
		for i := range r.Peers {
			v = append(v, view.Title(&r.Peers[i]))
		}
	}
	return v, cobra.ShellCompDirectiveNoFileComp
}
