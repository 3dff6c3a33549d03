package daemon

import (
	"context"
	"errors"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/events"
	"github.com/srdtun/srdtun/overlay/hooks"
	"github.com/srdtun/srdtun/overlay/privilege"
)

// programs runs the commands of the configuration, and the programs that set the host's
// resolvers.
type programs struct {
	log      *eventLog
	running  *runningConfig
	device   *device
	runner   *hooks.Runner // nil: no second process
	resolver string        // the program that set the host's resolvers; "": not set
	wanted   bool          // the end was requested
}

// begin sets the resolvers and runs the commands of post_up. At this time the tunnel carries
// packets, so the commands can use it. The caller must call the method finish() after begin(), even
// if begin() failed half way.
func (p *programs) begin(ctx context.Context) error {
	p.device.awaitBindable(ctx)
	if err := p.useDNS(ctx); err != nil {
		return p.running.cfg().Fault("interface", "dns", "%w", err)
	}
	return p.run(ctx, "post_up", p.running.cfg().Interface.Hooks.PostUp)
}

func (p *programs) finish(ctx context.Context) error {
	return errors.Join(p.run(ctx, "pre_down", p.running.cfg().Interface.Hooks.PreDown), p.leaveDNS(ctx))
}

func (p *programs) end(ctx context.Context) error {
	return p.run(ctx, "post_down", p.running.cfg().Interface.Hooks.PostDown)
}

// Commands returns the commands that run after the daemon has given up its privileges, which are
// all but pre_up.
func Commands(c *config.Config) (all [][]string) {
	h := &c.Interface.Hooks
	for _, argv := range slices.Concat(h.PostUp, h.PreDown, h.PostDown) {
		all = append(all, c.Command(argv))
	}
	return all
}

// Environment returns the environment variables for commands. Commands inherit only the search
// path, and no variables of the service manager.
func Environment(c *config.Config) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "SRDTUN_INTERFACE=" + c.Interface.Name}
}

// run runs commands one after another, until one fails. After the daemon has given up its
// privileges, the second process runs the commands, if there is one (package hooks).
func (p *programs) run(ctx context.Context, key string, commands [][]string) error {
	for _, argv := range commands {
		words := p.running.cfg().Command(argv)
		var err error
		if p.runner != nil && key != "pre_up" {
			err = p.logOutput(words[0])(p.runner.Run(ctx, words))
		} else {
			err = p.command(ctx, "", words...)
		}
		switch {
		case err != nil && p.wanted:
			// The exit code of a wrong configuration: the interface is gone as requested, so the
			// service manager must not start it again.
			return p.running.cfg().Doubt("interface", key, "%v", err)
		case err != nil:
			return p.running.cfg().Fault("interface", key, "%v", err)
		}
	}
	return nil
}

// command runs a program to its end, with the current privileges of this process.
func (p *programs) command(ctx context.Context, stdin string, argv ...string) error {
	return p.logOutput(argv[0])(hooks.Run(ctx, hooks.Command{Argv: argv, Stdin: stdin, Env: Environment(p.running.cfg()), Ambient: p.hookRights()}))
}

// logOutput logs the output of a program.
func (p *programs) logOutput(program string) func(said string, err error) error {
	return func(said string, err error) error {
		if err == nil && said != "" {
			p.log.tell(events.Note, program, "%s: %s", program, said)
		}
		return err
	}
}

// hookRights returns the ambient capabilities for commands. A daemon of a user other than root
// has only CAP_NET_ADMIN, and passes it to the commands.
func (p *programs) hookRights() []uintptr {
	if os.Geteuid() == 0 || !privilege.Has(unix.CAP_NET_ADMIN) {
		return nil
	}
	return []uintptr{unix.CAP_NET_ADMIN}
}
