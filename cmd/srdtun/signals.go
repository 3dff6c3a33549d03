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

// signalGrace is the time in which further signals count as repetitions of the first. For
// instance, timeout(1) signals its child and then the process group; a closing terminal is
// similar. A tear-down takes some milliseconds.
const signalGrace = time.Second

// untilSignal returns a context that ends with the first signal to end this process:
// SIGINT, SIGTERM or one of more. Later signals within grace have no effect, because an
// interrupted tear-down leaves routes and rules behind. After that, the next signal ends
// the process at once, as usual.
func untilSignal(grace time.Duration, more ...os.Signal) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = context.WithCancel(context.Background())
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, append(more, syscall.SIGINT, syscall.SIGTERM)...)
	go func() {
		defer signal.Stop(asked)
		select {
		case <-asked:
			stop()
			// The wait lasts for the whole grace time even if the tear-down ends earlier,
			// so that no signal interrupts the end of the process.
			time.Sleep(grace)
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

// onTerminal reports whether this process has a controlling terminal. Then SIGHUP means
// that the terminal is gone, and ends the process. Otherwise it asks the daemon to read its
// file again.
func onTerminal() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

// hangups returns a channel of requests to read the file again, and a function to call
// after each reading. Both tell systemd that the service is reloading or ready
// (sd_notify(3), RELOADING=1).
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

// reloading is the message that systemd expects before a reload.
func reloading() string {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return sdnotify.SdNotifyReloading
	}
	return fmt.Sprintf("%s\nMONOTONIC_USEC=%d", sdnotify.SdNotifyReloading, t.Nano()/int64(time.Microsecond))
}
