package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	sdnotify "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"
)

// signalGrace is how long signals that follow the first are the same wish once more:
// timeout(1) signals its child and then the process group, and a terminal that closes
// does the like. A tear-down takes some milliseconds.
const signalGrace = time.Second

// untilSignal returns a context that ends with the first signal that asks this process
// to end. Those that follow within grace change nothing, as ending in the midst of a
// tear-down leaves routes and rules behind. After that, signals have their ordinary
// effect again: the next ends the process at once. more are signals that ask for the end
// beside SIGINT and SIGTERM.
func untilSignal(grace time.Duration, more ...os.Signal) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = context.WithCancel(context.Background())
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, append(more, syscall.SIGINT, syscall.SIGTERM)...)
	go func() {
		defer signal.Stop(asked)
		select {
		case <-asked:
			stop()
			// Also when all is done before, so that nothing comes between the end
			// of the tear-down and that of the process.
			time.Sleep(grace)
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// onTerminal reports whether this process has a controlling terminal. SIGHUP then means
// that the terminal is gone, which is an end; else it asks a daemon to read its file again.
func onTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// hangups returns where requests to read the file again come in, and a function that is
// to be called when that is done. systemd is told of both (sd_notify(3), RELOADING=1).
func hangups() (again <-chan os.Signal, done func(error)) {
	in, out := make(chan os.Signal, 1), make(chan os.Signal, 1)
	signal.Notify(in, syscall.SIGHUP)
	go func() {
		for s := range in {
			notify(reloading())
			out <- s
		}
	}()
	return out, func(error) { notify(sdnotify.SdNotifyReady) }
}

// reloading is what systemd wants to be told before a reload.
func reloading() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return sdnotify.SdNotifyReloading
	}
	return fmt.Sprintf("%s\nMONOTONIC_USEC=%d", sdnotify.SdNotifyReloading, t.Nano()/int64(time.Microsecond))
}
