package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"syscall"

	sdnotify "github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/internal/logline"
	"github.com/srdtun/srdtun/overlay/control"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/daemon"
	"github.com/srdtun/srdtun/overlay/handover"
	"github.com/srdtun/srdtun/overlay/hooks"
	"github.com/srdtun/srdtun/overlay/privilege"
	"golang.org/x/sys/unix"
)

type upFlags struct {
	detach  bool
	readyFD int
	log     string // format of the log
	logFile string
	verbose bool
	pprof   string
	cpu     string

	// The channel carries requests to reload the file, and the function is called after each
	// reload. If they are nil, there are no such requests.
	again  <-chan os.Signal
	reread func(error)
}

func upCommand() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:   "up NAME|FILE",
		Short: "Bring an interface up and run it",
		Long: `Bring an interface up and run it, until a signal or "down" ends it.

With --detach the command returns once the interface is up, and prints the warnings of the
start. The log is NAME.log in the run directory (/run/srdtun), and "events" shows it too.`,
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE:              func(_ *cobra.Command, args []string) error { return up(args[0], f) },
	}
	flags := c.Flags()
	flags.BoolVarP(&f.detach, "detach", "d", false, "run in the background, return once the interface is up")
	flags.IntVar(&f.readyFD, "ready-fd", 0, "report to the starting process on this descriptor")
	flags.StringVar(&f.log, "log", "", logline.Usage)
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "also log details for finding faults")
	flags.StringVar(&f.logFile, "log-file", "", "log to this file, and keep it short")
	flags.StringVar(&f.pprof, "pprof", "", "serve profiles on this unix socket")
	flags.StringVar(&f.cpu, "cpuprofile", "", "record a CPU profile to this file")
	for _, name := range []string{"ready-fd", "log-file", "pprof", "cpuprofile"} {
		flags.Lookup(name).Hidden = true
	}
	return c
}

func up(arg string, f upFlags) error {
	var ends []os.Signal
	if f.detach || onTerminal() {
		ends = append(ends, syscall.SIGHUP)
	} else {
		f.again, f.reread = hangups()
	}
	ctx, stop := untilSignal(signalGrace, ends...)
	defer stop()
	if f.detach {
		return startBackground(ctx, arg, f)
	}
	if f.readyFD > 0 {
		takeName()
	}
	r := newReporter(f.readyFD)
	err := foreground(ctx, arg, f, r)
	if err != nil {
		r.failed(err)
	}
	return err
}

// foreground runs the interface until ctx ends, and then tears it down.
func foreground(ctx context.Context, arg string, f upFlags, r *reporter) error {
	log, err := openOutput(f)
	if err != nil {
		return err
	}
	before := received(slog.New(log))
	c, err := load(arg)
	if why := rundir.Refused(); err == nil && why != "" {
		err = &codedError{exitConfig, why}
	}
	if err != nil {
		return errors.Join(err, daemon.Discard(arg, before))
	}
	if before == nil { // otherwise the interface has not gone since it was started
		if err := warnClashes(c, r); err != nil {
			return err
		}
	}
	stopProfiles, err := startProfiles(f.pprof, f.cpu)
	if err != nil {
		return err
	}
	stopNotice := context.AfterFunc(ctx, func() { notify(sdnotify.SdNotifyStopping) })
	defer stopNotice()
	err = serve(ctx, daemon.Options{
		Config: c, Log: logline.Events(log), Before: before, Verbose: f.verbose, Load: c.Reread, Again: f.again, Reloaded: f.reread,
	}, r)
	if errors.Is(err, control.ErrAlreadyRunning) {
		err = alreadyRuns(c, err)
	}
	return errors.Join(err, stopProfiles())
}

// alreadyRuns adds to the error of a start that the interface was started from another file.
func alreadyRuns(c *config.Config, err error) error {
	if at, runs, _ := placeOfDevice(c.Interface.Name); runs {
		if other := otherFile(at, c.File); other != "" {
			return fmt.Errorf("%w, from %s", err, other)
		}
	}
	return err
}

// logFormat returns the format of the log: text, JSON or journal.
func logFormat(asked string) (string, error) {
	format, err := logline.Format(asked)
	if err != nil {
		err = &usageError{err}
	}
	return format, err
}

// openOutput returns the handler that writes the log.
func openOutput(f upFlags) (slog.Handler, error) {
	format, err := logFormat(f.log)
	if err != nil || f.logFile == "" {
		return logline.New(os.Stderr, format), err
	}
	file, err := openRotating(f.logFile, maxLog)
	if err != nil {
		return nil, err
	}
	return logline.New(file, format), file.follow()
}

func serve(ctx context.Context, o daemon.Options, r *reporter) error {
	o.Store, o.Confine, o.Confined = handover.NewStore(), confine, confined
	runner, err := startHooks(o.Config)
	if err != nil {
		text := fmt.Sprintf("commands other than pre_up run with the daemon's rights: %v", err)
		fmt.Fprintln(os.Stderr, "srdtun: "+text)
		r.warned([]string{text})
	}
	if runner != nil {
		o.Hooks = runner
		defer runner.Close()
	}
	o.Warned = r.warned
	o.Ready = func() {
		notify(sdnotify.SdNotifyReady)
		r.ready()
	}
	return daemon.Run(ctx, o)
}

// startHooks starts the process that runs hook commands. It does nothing if there are no hook
// commands, or if this process has no capabilities to give up.
func startHooks(c *config.Config) (*hooks.Runner, error) {
	commands := daemon.Commands(c)
	if len(commands) == 0 || !privilege.More(unix.CAP_NET_ADMIN) {
		return nil, nil
	}
	return hooks.Start([]string{"run-commands"}, commands, daemon.Environment(c), rundir.Dir())
}

// hooksCommand returns the hidden command of the process that runs hook commands.
func hooksCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "run-commands",
		Hidden: true,
		Short:  "Run the commands of a configuration for the daemon that starts this",
		Args:   takes(0, 0),
		RunE: func(*cobra.Command, []string) error {
			return hooks.Serve(func(dir string) error { return privilege.Limit(dir, unix.CAP_NET_ADMIN) })
		},
	}
}

// received returns the state that the previous process stored in the service manager.
func received(log *slog.Logger) *handover.Bundle {
	b, err := handover.NewStore().Receive()
	if err != nil {
		log.Warn(fmt.Sprintf("the state of the previous process is not used: %v", err))
	}
	return b
}

// confine gives up all capabilities except CAP_NET_ADMIN. The daemon binds all sockets, even on
// ports below 1024, before it calls confine().
func confine() error { return privilege.Drop(rundir.Dir(), unix.CAP_NET_ADMIN) }

// confined calls a function that reads files, with the rights that confine() leaves.
func confined(read func()) error { return privilege.As(rundir.Dir(), unix.CAP_NET_ADMIN, read) }

// notify sends a state to systemd if systemd started this process (sd_notify(3)). Without
// systemd, notify() does nothing.
func notify(state string) {
	if _, err := sdnotify.SdNotify(false, state); err != nil {
		fmt.Fprintf(os.Stderr, "srdtun: sd_notify: %v\n", err)
	}
}
