package fabric

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// exitInterrupted is the exit code that shells report for a program killed by SIGINT: 128 plus
// the signal's number.
const exitInterrupted = 128 + int(syscall.SIGINT)

// Command runs the work of a program that builds fabrics, after the program has parsed its flags.
// If work fails, Command prints the program's name and the error, and exits with 1. On a signal
// that ends the program, Command prints that the program was interrupted, and the text note, and
// exits immediately with 130. The guard then removes the network.
func Command(name, note string, work func() error) {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- work() }()
	select {
	case err := <-done:
		if err != nil {
			fail(name, err)
		}
	case <-ctx.Done():
		// The guard notices the end of this process, and removes the network.
		fmt.Println("\ninterrupted; the network is being removed" + note)
		os.Exit(exitInterrupted)
	}
}

func fail(name string, err error) {
	fmt.Fprintf(os.Stderr, "\n%s: %v\n", name, err)
	os.Exit(1)
}
