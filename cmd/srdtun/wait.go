package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/internal/keytext"
	"github.com/srdtun/srdtun/internal/peerid"
	"github.com/srdtun/srdtun/overlay/control"
)

const (
	waitDefault = 30 * time.Second
	// waitPoll is the interval at which the command wait polls the daemon.
	waitPoll = 50 * time.Millisecond
)

func waitCommand() *cobra.Command {
	var peer string
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "wait NAME|FILE [--peer PEER]",
		Short: "Wait until an interface is up, and has a session with a peer",
		Long: `Wait until an interface is up: its addresses can be bound, and packets are carried. With
--peer also until there is a session with that peer. If the time ends first, the exit
code is 3 without the interface, and 1 without the session.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE:              func(_ *cobra.Command, args []string) error { return wait(args[0], peer, timeout) },
	}
	c.Flags().StringVar(&peer, "peer", "", "wait for a session with this `PEER`: a name, a public key or an address inside the tunnel")
	c.Flags().DurationVar(&timeout, "timeout", waitDefault, "how long to wait at most")
	return c
}

func wait(arg, peer string, timeout time.Duration) error {
	if timeout < 0 {
		return usagef("a timeout must not be negative")
	}
	for end := time.Now().Add(timeout); ; time.Sleep(waitPoll) {
		err := sessionNow(arg, peer)
		var coded *codedError
		waits := errors.Is(err, control.ErrNotRunning) || errors.As(err, &coded)
		if !waits || time.Now().After(end) {
			return err
		}
	}
}

// sessionNow calls hasSession for the interface that the argument denotes at this moment.
func sessionNow(arg, peer string) error {
	r, err := askOne(arg, control.Part{Brief: peer == "", Peer: peer})
	if err != nil {
		return err
	}
	return hasSession(r.Status, peer)
}

// hasSession returns an error if there is no session with the peer. If `peer` is "", it returns
// nil.
func hasSession(st *control.Status, peer string) error {
	if peer == "" {
		return nil
	}
	switch p := st.Find(peer); {
	case p == nil && st.FindExpired(peer) != nil:
		return vetted{fmt.Errorf("%s: peer %s has expired", st.Interface, peer)}
	case p == nil:
		return fmt.Errorf("%s: no peer is named %s%s", st.Interface, keytext.Quote(peer), peerid.Missed(peer))
	case p.Cipher == "":
		return vetted{&codedError{code: exitFailure, msg: fmt.Sprintf("%s: no session with %s", st.Interface, peer)}}
	}
	return nil
}
