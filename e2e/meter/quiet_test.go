package meter

import (
	"errors"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/srdtun/srdtun/e2e/others"
)

// A machine with other work must be distinguished from an idle machine.
func TestOtherWorkIsSaid(t *testing.T) {
	for _, c := range []struct {
		what string
		got  string
		want string
	}{
		{"idle", CPUTime{Busy: 0.05}.unrest(time.Second), ""},
		{"busy", CPUTime{Busy: 1.94}.unrest(time.Second), "1.9 processors were busy before it began"},
		{"its own load", CPUTime{Busy: 1.9}.Disturbance(time.Second, false), ""},
		{"another guest", CPUTime{Steal: 4}.Disturbance(10*time.Second, false), "the hypervisor took 0.40 processors"},
		{"niced work", CPUTime{Nice: 5}.Disturbance(10*time.Second, false), "niced processes of others took 0.50 processors"},
		{"niced itself", CPUTime{Nice: 5}.Disturbance(10*time.Second, true), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
}

// Watched must return the error of the work.
func TestWatchedWork(t *testing.T) {
	sorry := errors.New("sorry")
	if _, err := Watched(0, func() error { return sorry }); !errors.Is(err, sorry) {
		t.Error(err)
	}
	done := false
	if _, err := Watched(0, func() error { done = true; return nil }); err != nil || !done {
		t.Error(err, done)
	}
}

// A process that this one did not start, at normal priority, is told.
func TestWatchedTellsOfOtherProcesses(t *testing.T) {
	const span = 500 * time.Millisecond
	// The shell ends at once, so the loop is nobody's child here.
	out, err := exec.Command("sh", "-c", "timeout 20 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Kill(stranger, syscall.SIGTERM)
	w, err := Watched(0, func() error { time.Sleep(span); return nil })
	if err != nil || w.Others <= others.Most || !strings.HasPrefix(w.Note, "other processes took ") {
		t.Errorf("%+v, %v", w, err)
	}
}
