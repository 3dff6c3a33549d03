package hooks

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// With the argument "serve" the test binary is the second process.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == "serve" {
		if err := Serve(func(dir string) error {
			if dir == "refuse" {
				return errors.New("not here")
			}
			return nil
		}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func start(t *testing.T, commands ...[]string) *Runner {
	t.Helper()
	r, err := Start([]string{"serve"}, commands, []string{"PATH=" + os.Getenv("PATH"), "A=b"}, "/")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func TestCommandsRunInTurn(t *testing.T) {
	say, fail := []string{"sh", "-c", "echo $A; echo more"}, []string{"sh", "-c", "echo why; exit 3"}
	r := start(t, say, fail)
	for range 3 {
		if said, err := r.Run(t.Context(), say); err != nil || said != "b; more" {
			t.Errorf("%q, %v", said, err)
		}
		if said, err := r.Run(t.Context(), fail); err == nil || err.Error() != "sh: exit status 3: why" || said != "" {
			t.Errorf("%q, %v", said, err)
		}
	}
}

// An attacker who has taken over the daemon cannot run a command that is not in the configuration.
func TestOnlyKnownCommandsRun(t *testing.T) {
	r := start(t, []string{"true"})
	if _, err := r.Run(t.Context(), []string{"false"}); err == nil || !strings.Contains(err.Error(), "not among the commands") {
		t.Errorf("error %v", err)
	}
	for _, at := range []int{-1, 1} {
		r, err := Start([]string{"serve"}, [][]string{{"true"}}, nil, "/")
		if err != nil {
			t.Fatal(err)
		}
		if err := r.send(request{Command: at}); err != nil {
			t.Error(err)
		}
		if v, ok := <-r.results; ok {
			t.Errorf("command %d: %+v", at, v)
		}
		if err := r.Close(); err == nil {
			t.Error("it ended as if nothing had happened")
		}
	}
}

// A command is ended when the context of its caller ends.
func TestCommandIsEnded(t *testing.T) {
	r := start(t, []string{"sleep", "1000"}, []string{"true"})
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := r.Run(ctx, []string{"sleep", "1000"}); err == nil {
		t.Error("no error")
	}
	if _, err := r.Run(t.Context(), []string{"true"}); err != nil {
		t.Error(err)
	}
}

func TestStartThatIsRefused(t *testing.T) {
	if r, err := Start([]string{"serve"}, nil, nil, "refuse"); err == nil || !strings.Contains(err.Error(), "not here") {
		t.Errorf("%v, %v", r, err)
	}
}

func TestNamesOfCapabilities(t *testing.T) {
	if len(capabilities) != 41 || capabilities[12] != "NET_ADMIN" || capabilities[13] != "NET_RAW" || capabilities[40] != "CHECKPOINT_RESTORE" {
		t.Errorf("%d names", len(capabilities))
	}
}
