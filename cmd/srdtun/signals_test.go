package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// stubborn GRACE is a process whose tear-down never ends. It prints that the tear-down has begun,
// and then replies to each line on standard input.
func stubborn() {
	grace, err := time.ParseDuration(os.Args[1])
	if err != nil {
		panic(err)
	}
	ctx, stop := untilSignal(grace, syscall.SIGHUP)
	defer stop()
	fmt.Println("up")
	<-ctx.Done()
	fmt.Println("ending")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		fmt.Println("alive")
	}
}

func startStubborn(t *testing.T, grace time.Duration) (c *exec.Cmd, in io.Writer, want func(line string)) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	c = exec.Command(self)
	c.Args = []string{"stubborn", grace.String()}
	out, err := c.StdoutPipe()
	must(t, err)
	in, err = c.StdinPipe()
	must(t, err)
	must(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	lines := bufio.NewScanner(out)
	return c, in, func(line string) {
		t.Helper()
		if !lines.Scan() || lines.Text() != line {
			t.Fatalf("got %q, want %q", lines.Text(), line)
		}
	}
}

// timeout(1) signals its child and then the process group, so the child gets the signal twice.
func TestRepeatedSignalDoesNotEndTearDown(t *testing.T) {
	c, in, want := startStubborn(t, time.Hour)
	want("up")
	c.Process.Signal(syscall.SIGTERM)
	want("ending")
	for _, sig := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		must(t, c.Process.Signal(sig))
		io.WriteString(in, "\n")
		want("alive")
	}
}

func TestLaterSignalEndsAtOnce(t *testing.T) {
	c, _, want := startStubborn(t, time.Millisecond)
	want("up")
	c.Process.Signal(syscall.SIGTERM)
	want("ending")
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		select {
		case err := <-ended:
			if ws, ok := c.ProcessState.Sys().(syscall.WaitStatus); !ok || ws.Signal() != syscall.SIGTERM {
				t.Errorf("ended with %v", err)
			}
			return
		case <-again.C:
			c.Process.Signal(syscall.SIGTERM)
		}
	}
}
