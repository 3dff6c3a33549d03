package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
	"github.com/srdtun/srdtun/fleet/internal/member"
)

// queued is how many events may wait for the agent.
const queued = 256

// joining is what join is told.
type joining struct {
	cluster
	member.Self
	policy agent.Files
	log    member.Log
	dir    string
}

func joinCommand() *cobra.Command {
	var j joining
	c := &cobra.Command{
		Use:   "join NODE",
		Short: "Be a member, and keep the others as peers, until it is stopped",
		Long: `join writes the record of this host into an annotation of the Node NODE, and
keeps the files of the other members in the daemon's directory of drop-in peers.

The record is made of the host's grant (--grant), or of its line in the allow
list, under the Node's name. It stays when join is stopped: a restart is not
seen by the others. A Node that is deleted is no member any more.`,
		Args: member.Takes(1),
		RunE: func(_ *cobra.Command, args []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return j.join(ctx, args[0])
		},
	}
	j.cluster.flags(c)
	member.PolicyFlags(c, &j.policy)
	j.Flags(c)
	j.log.Flags(c)
	c.Flags().StringVar(&j.dir, "dir", "", "the daemon's directory of drop-in peers, [peers] dir")
	return c
}

func (j *joining) join(ctx context.Context, name string) error {
	if j.dir == "" {
		return member.Usagef("--dir is missing")
	}
	policy, err := j.policy.Load()
	if err != nil {
		return err
	}
	record, err := j.Record(name, policy)
	if err != nil {
		return err
	}
	log, err := j.log.Open()
	if err != nil {
		return err
	}
	n, err := j.dial()
	if err != nil {
		return err
	}
	return j.run(ctx, n, record, log)
}

// run is a member until ctx ends.
func (j *joining) run(ctx context.Context, n *nodes, record *fleet.Record, log *slog.Logger) error {
	ctx, stop := context.WithCancel(ctx)
	events, again := make(chan agent.Event, queued), make(chan struct{}, 1)
	w := &watcher{nodes: n, events: events, again: again, log: log, own: record.Name, record: record.Format()}
	var watching sync.WaitGroup
	watching.Go(func() { w.run(ctx) })
	defer watching.Wait()
	defer stop()
	return agent.Run(ctx, agent.Options{
		Policy: j.policy, Dir: j.dir, Own: record.PublicKey, Log: log, Events: events, Grace: agent.DefaultGrace,
		Relist: func() {
			select {
			case again <- struct{}{}:
			default: // one is on its way
			}
		},
	})
}

func membersCommand() *cobra.Command {
	var c cluster
	var p agent.Files
	cmd := &cobra.Command{
		Use:   "members",
		Short: "List what the Nodes say, and what the policy says to it",
		Args:  member.Takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			policy, err := p.Load()
			if err != nil {
				return err
			}
			n, err := c.dial()
			if err != nil {
				return err
			}
			all, err := standings(context.Background(), n, policy)
			if err != nil {
				return err
			}
			return member.Print(cmd.OutOrStdout(), all)
		},
	}
	c.flags(cmd)
	member.PolicyFlags(cmd, &p)
	return cmd
}

// standings judges what the Nodes say now.
func standings(ctx context.Context, n *nodes, policy fleet.Policy) ([]fleet.Standing, error) {
	events := make(chan agent.Event)
	w := &watcher{nodes: n, events: events, log: member.Warnings(), there: true}
	done := make(chan error, 1)
	go func() {
		_, err := w.list(ctx)
		done <- err
	}()
	roster := fleet.NewRoster(policy, fleet.Key{}, 0)
	for {
		select {
		case e := <-events:
			if e.Kind == agent.Put {
				roster.Put(e.Entry, time.Now())
			}
		case err := <-done:
			return roster.Standings(), err
		}
	}
}

func leaveCommand() *cobra.Command {
	var c cluster
	cmd := &cobra.Command{
		Use:   "leave NODE",
		Short: "Remove a member at once",
		Long: `leave removes the record of a Node. Stop its agent first: one that runs puts its
record back, and leave fails. It waits for as long as an agent may take for that,
some seconds.`,
		Args: member.Takes(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := fleet.CheckName(args[0]); err != nil {
				return member.Usagef("%w", err)
			}
			n, err := c.dial()
			if err != nil {
				return err
			}
			return leave(context.Background(), n, args[0], leaveFor)
		},
	}
	c.flags(cmd)
	return cmd
}

const (
	// leaveFor is how long an agent may take to put its record back, and some.
	leaveFor = mendEvery + 2*time.Second
	// leaveLook is how often it is looked whether it has.
	leaveLook = 500 * time.Millisecond
)

// leave removes the record of a Node. The error says so if its agent runs.
func leave(ctx context.Context, n *nodes, name string, wait time.Duration) error {
	if err := n.write(ctx, name, nil); err != nil {
		return err
	}
	for end := time.Now().Add(wait); time.Now().Before(end); sleep(ctx, leaveLook) {
		ask, cancel := context.WithTimeout(ctx, askFor)
		node, err := n.Get(ask, name, metav1.GetOptions{})
		cancel()
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("the record is removed, and it is not known whether %s's agent puts it back: %w", name, err)
		case node.Annotations[n.annotation] != "":
			return fmt.Errorf("the agent of %s runs, and has put the record back: stop it first, on its node", name)
		}
	}
	return nil
}
