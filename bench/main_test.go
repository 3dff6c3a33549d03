package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// If the environment variable benchEnv is set, the test program runs as the command bench.
const benchEnv = "SRDTUN_BENCH_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(benchEnv) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// An experiment that is ended by a signal leaves no namespace, and no program in a namespace.
func TestExperimentIsInterrupted(t *testing.T) {
	for _, args := range []string{"plaintcp alone-20", "blackhole -bin /bin/false"} {
		c := exec.Command(os.Args[0], strings.Fields(args)...)
		c.Env = append(os.Environ(), benchEnv+"=1")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		spaces := fmt.Sprintf("/run/netns/srd%d-*", c.Process.Pid)
		await(t, args+" builds a network", func() bool { return count(spaces) > 0 })
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.Wait(); err == nil {
			t.Errorf("%s: the signal did not end it", args)
		}
		await(t, args+" leaves nothing", func() bool { return count(spaces) == 0 })
	}
}

func count(pattern string) int {
	names, _ := filepath.Glob(pattern)
	return len(names)
}

func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	const patience = 20 * time.Second
	for end := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after %v not yet: %s", patience, what)
		}
	}
}
