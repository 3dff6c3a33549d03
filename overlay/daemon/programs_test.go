package daemon

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/srdtun/srdtun/overlay/events"
)

// script is a program that writes its arguments, environment and input to a file, and prints
// a line.
func script(t *testing.T, dir, name, log string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	text := "#!/bin/sh\n{ echo \"" + name + ":$*\"; cat; env | grep -v -e ^PWD= -e ^PATH= -e ^_= -e ^SHLVL= -e ^OLDPWD= | sort; ip -o link show srdd0 >/dev/null 2>&1 && echo there; true; } >>" + log + "\n"
	must(t, os.WriteFile(file, []byte(text), 0o755))
	return file
}

func TestHooks(t *testing.T) {
	run := runDir(t)
	t.Setenv("CREDENTIALS_DIRECTORY", "/secret")
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	hook := script(t, dir, "hook", log)
	hooks := ""
	for _, k := range []string{"pre_up", "post_up", "pre_down", "post_down"} {
		hooks += fmt.Sprintf("%s = [[%q, %q, \"$HOME; %%i\"]]\n", k, hook, k)
	}
	before := state(t, run)
	r := up(t, parse(t, "[paths]\n", hooks+"[paths]\n"))
	r.cancel()
	r.wait()
	sameState(t, run, before)
	var want strings.Builder
	for _, k := range []string{"pre_up", "post_up", "pre_down", "post_down"} {
		want.WriteString("hook:" + k + " $HOME; srdd0\nSRDTUN_INTERFACE=srdd0\n")
		if k == "post_up" || k == "pre_down" {
			want.WriteString("there\n")
		}
	}
	if got, err := os.ReadFile(log); err != nil || string(got) != want.String() {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want.String())
	}
}

// If a command fails or does not end, the start fails and is undone.
func TestHooksThatFail(t *testing.T) {
	for _, c := range []struct{ name, hooks, want string }{
		{"exit code", `post_up = [["sh", "-c", "echo no; echo way >&2; exit 7"]]`, "interface.post_up: sh: exit status 7: no; way"},
		{"no program", `pre_up = [["/none/such"]]`, "interface.pre_up: fork/exec /none/such: no such file or directory"},
		{"not in the path", `pre_up = [["srdtun-none"]]`, "interface.pre_up: exec: \"srdtun-none\""},
	} {
		run := runDir(t)
		gone := filepath.Join(t.TempDir(), "gone")
		before := state(t, run)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		err := Run(ctx, Options{
			Config: parse(t, "[paths]\n", c.hooks+"\npost_down = [\"touch\", \""+gone+"\"]\n[paths]\n"), Log: func(events.Event) {},
			Ready: func() { t.Error("ready") },
		})
		cancel()
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
		if _, err := os.Stat(gone); err != nil {
			t.Errorf("%s: post_down was not run: %v", c.name, err)
		}
		sameState(t, run, before)
	}
}

// If the start is cancelled while it waits for a command, the command and its children are ended.
func TestHookIsEnded(t *testing.T) {
	runDir(t)
	s := newServer(parse(t), newEventLog(false))
	ctx, cancel := context.WithCancel(t.Context())
	pid := filepath.Join(t.TempDir(), "pid")
	done := make(chan error, 1)
	go func() { done <- s.programs.command(ctx, "", "sh", "-c", "sleep 1000 & echo $! >"+pid+"; wait") }()
	until(t, "the command to begin", func() bool { v, err := os.ReadFile(pid); return err == nil && len(v) > 1 })
	cancel()
	select {
	case err := <-done:
		if err == nil {
			t.Error("no error")
		}
	case <-time.After(patience):
		t.Fatal("it goes on")
	}
	v, err := os.ReadFile(pid)
	must(t, err)
	until(t, "its child to end", func() bool {
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(v)) + "/stat")
		return err != nil || strings.Contains(string(stat), ") Z ")
	})
}
