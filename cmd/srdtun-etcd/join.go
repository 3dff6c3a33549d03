package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

// queued is how many events may wait for the agent.
const queued = 256

// joining is what join is told.
type joining struct {
	connection
	policy    agent.Files
	dir       string
	grant     string
	addresses []string
	lease     time.Duration
}

// policyFlags are those of the operator's policy.
func policyFlags(c *cobra.Command, p *agent.Files) {
	f := c.Flags()
	f.StringVar(&p.Allow, "allow", "", "`file` with the members that are allowed: NAME KEY PREFIXES")
	f.StringVar(&p.Keys, "fleet-key", "", "`file` with the public keys that sign grants")
	f.StringVar(&p.Deny, "deny", "", "`file` with public keys that are denied, whatever else is said")
	f.StringVar(&p.Fleet, "fleet", "fleet", "the fleet's `name`, which grants must be for")
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
		Args: takes(1),
		RunE: func(_ *cobra.Command, args []string) error { return j.join(args[0]) },
	}
	j.connection.flags(c)
	policyFlags(c, &j.policy)
	f := c.Flags()
	f.StringVar(&j.dir, "dir", "", "the daemon's directory of drop-in peers, [peers] dir")
	f.StringVar(&j.grant, "grant", "", "`file` with this host's grant, from sign")
	f.StringSliceVar(&j.addresses, "address", nil, "`ADDRESS:PORT` where the daemon of this host is reached; none: it calls the others")
	f.DurationVar(&j.lease, "lease", defaultLease, "how long a member that says nothing is still one, 3s to 10s")
	return c
}

func (j *joining) join(name string) error {
	switch {
	case j.dir == "":
		return usagef("--dir is missing")
	case j.lease < minLease || j.lease > maxLease || j.lease%time.Second != 0:
		return usagef("--lease %v: want whole seconds, %v to %v", j.lease, minLease, maxLease)
	}
	policy, err := j.policy.Load()
	if err != nil {
		return err
	}
	record, err := j.record(name, policy)
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
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
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

// record is what this host says of itself. It must be one that its own policy admits, or the
// others would not take it either.
func (j *joining) record(name string, policy fleet.Policy) (*fleet.Record, error) {
	if err := fleet.CheckName(name); err != nil {
		return nil, usageError{err}
	}
	var at []netip.AddrPort
	for _, s := range j.addresses {
		e, err := fleet.ParseEndpoint(s)
		if err != nil {
			return nil, usagef("--address %w", err)
		}
		at = append(at, e)
	}
	var record *fleet.Record
	if j.grant != "" {
		data, err := agent.ReadFile(j.grant)
		if err != nil {
			return nil, err
		}
		g, err := fleet.ParseGrant(data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", j.grant, err)
		}
		record = g.Claimed(at)
	} else if a := policy.Allow.Find(name); a != nil {
		record = a.Claimed(at)
	} else {
		return nil, fmt.Errorf("%s is not in the allow list, and there is no --grant", name)
	}
	if record.Name != name {
		return nil, fmt.Errorf("the grant is for %s, not for %s", record.Name, name)
	}
	if _, err := fleet.ParseRecord(record.Format()); err != nil {
		return nil, err
	}
	if err := policy.Judge(record, time.Now()); err != nil {
		return nil, fmt.Errorf("the own policy refuses the record of this host: %w", err)
	}
	return record, nil
}
