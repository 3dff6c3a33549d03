package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// signalGrace is how long signals that follow the first are the same wish once more:
// timeout(1) signals its child and then the process group, and a terminal that closes
// does the like. A tear-down takes some milliseconds.
const signalGrace = time.Second

// untilSignal returns a context that ends with the first signal that asks this process
// to end. Those that follow within grace change nothing, as ending in the midst of a
// tear-down leaves routes and rules behind. After that, signals have their ordinary
// effect again: the next ends the process at once.
func untilSignal(grace time.Duration) (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = context.WithCancel(context.Background())
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
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
