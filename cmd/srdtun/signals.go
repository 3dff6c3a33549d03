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

// signalGrace is the time after a signal in which further signals are ignored as duplicates. For
// instance, timeout(1) signals its child and then the process group of the child. A tear-down takes
// some milliseconds, so the grace time covers it.
const signalGrace = time.Second

// untilSignal returns a context that ends with the first of the signals SIGINT, SIGTERM and those
// in `more`. Later signals within the grace time have no effect, because an interrupted tear-down
// leaves routes and rules behind. After the grace time, the next signal ends the process
// immediately.
func untilSignal(grace time.Duration, more ...os.Signal) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = context.WithCancel(context.Background())
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, append(more, syscall.SIGINT, syscall.SIGTERM)...)
	go func() {
		defer signal.Stop(asked)
		select {
		case <-asked:
			stop()
			// The goroutine waits for the whole grace time even if the process is about to end, so
			// that no signal interrupts its end.
			time.Sleep(grace)
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// onTerminal reports whether this process has a controlling terminal. If it has one, SIGHUP means
// that the terminal is gone, and ends the process. Otherwise SIGHUP makes the daemon read its file
// again.
func onTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// hangups returns a channel of requests to reload the file, and a function to call after each
// reload. systemd is notified before and after the reload (sd_notify(3), RELOADING=1).
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

// reloading returns the message that systemd expects before a reload.
func reloading() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return sdnotify.SdNotifyReloading
	}
	return fmt.Sprintf("%s\nMONOTONIC_USEC=%d", sdnotify.SdNotifyReloading, t.Nano()/int64(time.Microsecond))
}
