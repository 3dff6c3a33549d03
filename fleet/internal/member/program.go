package member

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/srdtun/srdtun/fleet"
	"github.com/srdtun/srdtun/fleet/agent"
)

// Program describes an agent. It has the store of the fleet, and the store's terms for the texts of
// the commands.
type Program struct {
	Name, Version, Short, Long string
	Argument                   string // the word for a member's name
	Join, Members, Leave       string // descriptions of the commands

	// Member converts an argument of a command to a member's name; nil means that both are the
	// same.
	Member func(argument string) string
	// Flags adds the flags for the address of the store, and JoinFlags adds the flags of the
	// command join.
	Flags, JoinFlags func(*cobra.Command)
	// Dial creates a client of the store. Dial succeeds even if the store is unreachable.
	Dial      func() (agent.Store, error)
	RetryMost time.Duration // agent.Member
	Exclusive bool
}

// Root returns the program's root command.
func (p *Program) Root() *cobra.Command {
	root := &cobra.Command{Use: p.Name, Short: p.Short, Long: p.Long, Version: p.Version}
	root.AddCommand(p.joinCommand(), p.membersCommand(), p.leaveCommand(), fleetKeyCommand(), p.signCommand(), manCommand(root))
	return root
}

// member converts an argument to a member's name.
func (p *Program) member(argument string) string {
	if p.Member == nil {
		return argument
	}
	return p.Member(argument)
}

// withStore calls the function do() with a client of the store, and closes the client.
func (p *Program) withStore(do func(agent.Store) error) error {
	store, err := p.Dial()
	if err != nil {
		return err
	}
	defer store.Close()
	return do(store)
}

func (p *Program) joinCommand() *cobra.Command {
	var j joining
	c := &cobra.Command{
		Use:   "join " + p.Argument,
		Short: "Join the fleet, and keep the other members as peers, until stopped",
		Long:  p.Join,
		Args:  takes(1),
		RunE:  func(_ *cobra.Command, args []string) error { return j.join(p, p.member(args[0])) },
	}
	p.Flags(c)
	if p.JoinFlags != nil {
		p.JoinFlags(c)
	}
	policyFlags(c, &j.policy)
	j.Flags(c)
	j.log.Flags(c)
	c.Flags().StringVar(&j.dir, "dir", "", "the daemon's directory of drop-in peers, [peers] dir")
	return c
}

// joining holds the flags of the command join.
type joining struct {
	Self
	policy agent.Files
	log    Log
	dir    string
}

func (j *joining) join(p *Program, name string) error {
	if j.dir == "" {
		return Usagef("--dir is missing")
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
	return p.withStore(func(store agent.Store) error {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		return agent.Join(ctx, agent.Member{
			Store: store, Record: record, Policy: j.policy, Dir: j.dir, Log: log,
			RetryMost: p.RetryMost, Exclusive: p.Exclusive,
		})
	})
}

func (p *Program) membersCommand() *cobra.Command {
	var files agent.Files
	c := &cobra.Command{
		Use:   "members",
		Short: p.Members,
		Args:  takes(0),
		RunE: func(c *cobra.Command, _ []string) error {
			policy, err := files.Load()
			if err != nil {
				return err
			}
			return p.withStore(func(store agent.Store) error {
				all, err := agent.Standings(context.Background(), store, policy)
				if err != nil {
					return err
				}
				return list(c.OutOrStdout(), all)
			})
		},
	}
	p.Flags(c)
	policyFlags(c, &files)
	return c
}

func (p *Program) leaveCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "leave " + p.Argument,
		Short: "Remove a member at once",
		Long:  p.Leave,
		Args:  takes(1),
		RunE: func(_ *cobra.Command, args []string) error {
			name := p.member(args[0])
			if err := fleet.CheckName(name); err != nil {
				return Usagef("%w", err)
			}
			return p.withStore(func(store agent.Store) error { return agent.Leave(context.Background(), store, name) })
		},
	}
	p.Flags(c)
	return c
}
