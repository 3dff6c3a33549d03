package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
	"github.com/srdtun/srdtun/fleet/internal/member"
)

// queued is how many events may wait for the agent.
const queued = 256

// joining is what join is told.
type joining struct {
	connection
	member.Self
	policy agent.Files
	log    member.Log
	dir    string
	lease  time.Duration
}

func joinCommand() *cobra.Command {
	var j joining
	c := &cobra.Command{
		Use:   "join NAME",
		Short: "Be a member, and keep the others as peers, until it is stopped",
		Long: `join puts the record of this host into etcd under NAME, and keeps the files
of the other members in the daemon's directory of drop-in peers.

The record is made of the host's grant (--grant), or of its line in the allow
list. A member that is stopped is one until its lease is over: a restart is
not seen by the others.`,
		Args: member.Takes(1),
		RunE: func(_ *cobra.Command, args []string) error { return j.join(args[0]) },
	}
	j.connection.flags(c)
	member.PolicyFlags(c, &j.policy)
	j.Flags(c)
	j.log.Flags(c)
	f := c.Flags()
	f.StringVar(&j.dir, "dir", "", "the daemon's directory of drop-in peers, [peers] dir")
	f.DurationVar(&j.lease, "lease", defaultLease, "how long a member that says nothing is still one, 3s to 10s")
	return c
}

func (j *joining) join(name string) error {
	switch {
	case j.dir == "":
		return member.Usagef("--dir is missing")
	case j.lease < minLease || j.lease > maxLease || j.lease%time.Second != 0:
		return member.Usagef("--lease %v: want whole seconds, %v to %v", j.lease, minLease, maxLease)
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
	l, err := j.dial()
	if err != nil {
		return err
	}
	defer l.client.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, fail := context.WithCancelCause(ctx)
	events, again := make(chan agent.Event, queued), make(chan struct{}, 1)
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	all.Go(func() {
		if err := j.follow(ctx, l, record, policy, events, again, log); err != nil {
			fail(err)
		}
	})
	err = agent.Run(ctx, agent.Options{
		Policy: j.policy, Dir: j.dir, Own: record.PublicKey, Log: log, Events: events, Grace: agent.DefaultGrace,
		Relist: func() {
			select {
			case again <- struct{}{}:
			default: // one is on its way
			}
		},
	})
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) {
		err = cause
	}
	return err
}

// follow announces and watches until ctx ends. The error is that the name is somebody else's.
func (j *joining) follow(ctx context.Context, l *login, record *fleet.Record, policy fleet.Policy, events chan<- agent.Event, again <-chan struct{}, log *slog.Logger) error {
	key := j.prefix + record.Name
	if err := free(ctx, l, key, record, policy); err != nil {
		return err
	}
	tampered := make(chan struct{}, 1)
	a := &announcer{login: l, key: key, record: record.Format(), lease: j.lease, events: events, tampered: tampered, log: log}
	w := &watcher{login: l, prefix: j.prefix, events: events, again: again, log: log, own: key, record: a.record, tampered: tampered}
	var both sync.WaitGroup
	both.Go(func() { a.run(ctx) })
	both.Go(func() { w.run(ctx) })
	both.Wait()
	return nil
}
