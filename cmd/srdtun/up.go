package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	sdnotify "github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"
	"github.com/srdtun/srdtun/config"
	"github.com/srdtun/srdtun/overlay/control/rundir"
	"github.com/srdtun/srdtun/overlay/daemon"
	"github.com/srdtun/srdtun/overlay/privilege"
	"golang.org/x/sys/unix"
)

// upFlags are the options of up.
type upFlags struct {
	detach  bool
	readyFD int
	log     string
	pprof   string
	cpu     string

	// Requests to read the file again, and what is to be called then; nil: there are none.
	again  <-chan os.Signal
	reread func(error)
}

func upCommand() *cobra.Command {
	var f upFlags
	c := &cobra.Command{
		Use:               "up NAME|FILE",
		Short:             "Bring an interface up and run it",
		Args:              takes(1, 1),
		ValidArgsFunction: completeConfigured,
		RunE:              func(_ *cobra.Command, args []string) error { return up(args[0], f) },
	}
	flags := c.Flags()
	flags.BoolVarP(&f.detach, "detach", "d", false, "run in the background, return once the interface is up")
	flags.IntVar(&f.readyFD, "ready-fd", 0, "report to the starting process on this descriptor")
	flags.StringVar(&f.log, "log", "", "log to this file, which is kept short")
	flags.StringVar(&f.pprof, "pprof", "", "serve profiles on this unix socket")
	flags.StringVar(&f.cpu, "cpuprofile", "", "record a CPU profile to this file")
	for _, name := range []string{"ready-fd", "log", "pprof", "cpuprofile"} {
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

// foreground runs the interface until ctx ends and everything is torn down.
func foreground(ctx context.Context, arg string, f upFlags, r *reporter) error {
	logger := newLogger(os.Stderr)
	if f.log != "" {
		file, err := openRotating(f.log, maxLog)
		if err != nil {
			return err
		}
		if err := file.follow(); err != nil {
			return err
		}
		logger.SetOutput(file)
	}
	c, err := load(arg)
	if err != nil {
		return err
	}
	stopProfiles, err := startProfiles(f.pprof, f.cpu)
	if err != nil {
		return err
	}
	stopNotice := context.AfterFunc(ctx, func() { notify(sdnotify.SdNotifyStopping) })
	defer stopNotice()
	err = serve(ctx, c, f, logger.Printf, r)
	return errors.Join(err, stopProfiles())
}

// tunDevice is what devices are made with.
const tunDevice = "/dev/net/tun"

func serve(ctx context.Context, c *config.Config, f upFlags, logf func(string, ...any), r *reporter) error {
	err := daemon.Run(ctx, daemon.Options{
		Config: c, Logf: logf, Confine: confine, Load: c.Reread, Again: f.again, Reloaded: f.reread,
		Ready: func() {
			notify(sdnotify.SdNotifyReady)
			r.ready()
		},
	})
	if err == nil {
		return nil
	}
	tun := strings.Contains(err.Error(), tunDevice)
	switch {
	case tun && errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w (modprobe tun makes it; a container is given it with --device %s)", err, tunDevice)
	case tun && errors.Is(err, fs.ErrPermission) && unix.Access(tunDevice, unix.R_OK|unix.W_OK) != nil:
		return fmt.Errorf("%w (root or CAP_NET_ADMIN is needed, and that the mode of %s lets this user in: it is 0666 on most hosts)", err, tunDevice)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w (root or CAP_NET_ADMIN is needed)", err)
	}
	return err
}

// confine leaves the right to change the network. Ports are bound by then, also those
// below 1024.
func confine() error { return privilege.Drop(rundir.Dir(), unix.CAP_NET_ADMIN) }

// notify tells systemd, if it started this process (sd_notify(3)). Without it
// there is nobody to tell, and no error.
func notify(state string) {
	if _, err := sdnotify.SdNotify(false, state); err != nil {
		fmt.Fprintf(os.Stderr, "srdtun: sd_notify: %v\n", err)
	}
}
