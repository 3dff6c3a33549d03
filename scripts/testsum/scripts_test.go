package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// said returns the output and the exit code of a script.
func said(t *testing.T, args ...string) (string, int) {
	t.Helper()
	c := exec.Command("sh", args...)
	out, err := c.CombinedOutput()
	var exited *exec.ExitError
	if err != nil && !errors.As(err, &exited) {
		t.Fatal(err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// All steps must run although one fails. The output must name the failed steps, and say what to do
// next.
func TestEachGoesOnAfterAFailure(t *testing.T) {
	t.Setenv("NEXT", "then: x")
	out, code := said(t, "../each.sh", "one", "echo 1; exit 3", "two", "echo 2", "three", "false")
	if want := "1\n2\nFAILED: one, three. then: x\n"; out != want || code != 1 {
		t.Errorf("said %q and ended with %d, want %q", out, code, want)
	}
	if out, code := said(t, "../each.sh", "one", "true", "two", "echo 2"); out != "2\n" || code != 0 {
		t.Errorf("said %q and ended with %d", out, code)
	}
}

// After "make check", the contributor learns which tests of the change have not run yet: those of
// packages that the check leaves out, once each, and in their own modules.
func TestNextNamesTheTestsOfAChange(t *testing.T) {
	dir := t.TempDir()
	script, err := filepath.Abs("../next.sh")
	if err != nil {
		t.Fatal(err)
	}
	in := func(args ...string) string {
		c := exec.Command(args[0], args[1:]...)
		c.Dir = dir
		c.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return string(out)
	}
	write := func(names ...string) {
		for _, name := range names {
			file := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(name), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
	}
	next := func() string { return in(script, "./config", "./srd/internal/...") }
	const otherwise = "Next, the tests of what you have changed, for instance (as root) go test ./cmd/srdtun\nBefore a commit: sudo make test\n"
	write("cmd/srdtun/top.go", "cmd/srdtun/top_test.go", "lab/run/a.go", "lab/run/a_test.go", "overlay/frame/a.go")
	if got := next(); got != otherwise {
		t.Errorf("without git: %q", got)
	}
	git := func(args ...string) {
		in(append([]string{"git", "-c", "user.name=n", "-c", "user.email=e"}, args...)...)
	}
	git("init", "-q", "-b", "main")
	git("add", ".")
	git("commit", "-q", "-m", "first")
	if got := next(); got != otherwise {
		t.Errorf("without a change: %q", got)
	}
	git("checkout", "-q", "-b", "mine", "--track", "main")
	write("config/a.go", "config/a_test.go", "srd/internal/rtt/a.go", "srd/internal/rtt/a_test.go", "cmd/srdtun/testdata/scripts/x.txt", "README.md")
	in("sh", "-c", "echo >>cmd/srdtun/top.go; echo >>lab/run/a.go; echo >>overlay/frame/a.go")
	git("add", "cmd")
	git("commit", "-q", "-m", "second")
	want := "Next, the tests of what you have changed, as root if they make namespaces:\n    go test ./cmd/srdtun\n    go -C lab test ./run\n" +
		"For a change of srd/ or overlay/: sudo make regress BASE=<revision> SET=quick, and make acceptance\nBefore a commit: sudo make test\n"
	if got := next(); got != want {
		t.Errorf("said %q, want %q", got, want)
	}
}

// A failure in the background must be visible while the foreground still runs. The foreground
// continues only after the test has seen the failure.
func TestFailureInTheBackgroundIsSeenAtOnce(t *testing.T) {
	dir := t.TempDir()
	sum, gate := filepath.Join(dir, "testsum"), filepath.Join(dir, "gate")
	if out, err := exec.Command("go", "build", "-o", sum, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// This "go" command has one failing test, and runs until the foreground has ended.
	await := "n=0; while [ ! -e " + gate + " ] && [ $n -lt 1500 ]; do sleep 0.02; n=$((n + 1)); done; [ -e " + gate + " ]"
	stand := "#!/bin/sh\ncat <<'END'\n" + events("fail") + "END\n" + await + "\nexit 1\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(stand), 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("../beside.sh", sum+" -go "+dir+"/go -- x", await+" && echo foreground")
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	var lines []string
	for s := bufio.NewScanner(r); s.Scan(); {
		lines = append(lines, s.Text())
		if s.Text() == "log of fail" {
			if err := os.WriteFile(gate, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	err = cmd.Wait()
	text := strings.Join(lines, "\n")
	if err == nil || !strings.Contains(text, "\nforeground\n") || !strings.Contains(text, "\nFAIL  p Tfail\nlog of fail\n") || !strings.HasSuffix(text, fmt.Sprintf("\nFAILED: %s -go %s/go -- x", sum, dir)) {
		t.Errorf("%v\n%s", err, text)
	}
}

// The output of the background must come at the end, and each failed command must be named.
func TestBesideShowsBoth(t *testing.T) {
	out, code := said(t, "../beside.sh", "echo back", "echo front")
	if !strings.HasSuffix(out, "\nfront\nback\n") || code != 0 {
		t.Errorf("said %q and ended with %d", out, code)
	}
	out, code = said(t, "../beside.sh", "echo back; exit 4", "echo front; exit 5")
	if !strings.Contains(out, "FAILED: echo back; exit 4\nback\n") || !strings.HasSuffix(out, "\nFAILED: echo back; exit 4; echo front; exit 5\n") || code != 4 {
		t.Errorf("said %q and ended with %d", out, code)
	}
}

// A signal ends .ci/run while it makes the root, and the root is removed.
func TestInterruptedRunRemovesItsRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("root is needed")
	}
	const patience = 30 * time.Second
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			continue // .ci/run would inherit that
		}
		dir := t.TempDir()
		// A debootstrap that writes for some seconds.
		stand := "#!/bin/sh\nfor a; do case $a in /var/tmp/*) root=$a ;; esac; done\necho $root >" + dir + "/root\n" +
			"i=0; while [ $i -lt 5000 ]; do i=$((i + 1)); mkdir -p $root/$i/a; done\n"
		if err := os.WriteFile(filepath.Join(dir, "debootstrap"), []byte(stand), 0o700); err != nil {
			t.Fatal(err)
		}
		c := exec.Command("../../.ci/run")
		c.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		var root string
		for end := time.Now().Add(patience); root == "" && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
			text, _ := os.ReadFile(filepath.Join(dir, "root"))
			root = strings.TrimSpace(string(text))
		}
		_ = c.Process.Signal(sig)
		late := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
		_ = c.Wait()
		if !late.Stop() {
			t.Errorf("%v: still runs after %v", sig, patience)
		}
		if code := c.ProcessState.ExitCode(); code != 128+int(sig) {
			t.Errorf("%v: ended with %d", sig, code)
		}
		if left, _ := filepath.Glob(root + "*"); root == "" || len(left) > 0 {
			t.Errorf("%v: left behind of %q: %v", sig, root, left)
		}
	}
}
