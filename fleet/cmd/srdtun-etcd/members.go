package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
	"github.com/srdtun/srdtun/fleet/internal/member"
)

func membersCommand() *cobra.Command {
	var c connection
	var p agent.Files
	cmd := &cobra.Command{
		Use:   "members",
		Short: "List what is in etcd, and what the policy says to it",
		Args:  member.Takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			policy, err := p.Load()
			if err != nil {
				return err
			}
			all, err := c.standings(cmd.Context(), policy)
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

// standings judges what is in etcd now.
func (c *connection) standings(ctx context.Context, policy fleet.Policy) ([]fleet.Standing, error) {
	l, err := c.dial()
	if err != nil {
		return nil, err
	}
	defer l.client.Close()
	if ctx == nil {
		ctx = context.Background()
	}
	if ctx, err = l.with(ctx); err != nil {
		return nil, err
	}
	events := make(chan agent.Event)
	w := &watcher{login: l, prefix: c.prefix, events: events, log: member.Warnings()}
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
